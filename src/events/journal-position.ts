/** A span of journal ids, both ends inclusive. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** A span of ids that were not visible although a later one was: not committed yet, or rolled back. */
export interface Gap extends Span {
  /** The transactions that could still fill it; undefined: nobody looked yet. */
  readonly waitsFor?: ReadonlySet<string>
  /** All of them have ended: what the next look does not find never comes. */
  readonly ripe?: boolean
}

/**
 * How far the journal was told: every id up to `high` but those in `gaps`. Ids are given out before the commit, so a smaller one can become
 * visible after a bigger one; 'everything after the last id' loses events. Gaps are in order and apart.
 */
export interface Position {
  readonly high: number
  readonly gaps: readonly Gap[]
}

/** Where a stream goes on, as its cursor has it. */
interface Place {
  readonly position: Position
  /** When it was given out, in minutes since 1970. */
  readonly minute: number
}

/**
 * Whether the journal still holds all that came after a place. One beyond its end was given out by a database that is not this one any more: one
 * restored from a backup.
 */
export function isKept(
  { position, minute }: Place,
  journal: { readonly id: number | null; readonly since: Date | null; readonly end: number },
): boolean {
  const isOlder = position.high > 0 && journal.id !== null && position.high + 1 < journal.id
  const isForgotten = journal.since !== null && (minute + 1) * 60_000 < journal.since.getTime()
  return !isOlder && !isForgotten && position.high <= journal.end
}

/** Whether the id was told, or can never come. */
export function includes(position: Position, id: number): boolean {
  return id <= position.high && !inSpans(position.gaps, id)
}

/** Whether the same was told at both. */
export function isSamePosition(a: Position, b: Position): boolean {
  return (
    a.high === b.high &&
    a.gaps.length === b.gaps.length &&
    a.gaps.every((gap, i) => gap.from === b.gaps[i]!.from && gap.to === b.gaps[i]!.to)
  )
}

/** The position after these ids, in ascending order, were told as well; what lies between them is a gap. */
export function advance(position: Position, ids: readonly number[]): Position {
  if (ids.length === 0) return position
  const fills = ids.filter((id) => id <= position.high)
  const gaps = fills.length === 0 ? [...position.gaps] : position.gaps.flatMap((gap) => without(gap, fills))
  let high = position.high
  for (const id of ids) {
    if (id <= high) continue
    if (id > high + 1) gaps.push({ from: high + 1, to: id - 1 })
    high = id
  }
  return { high, gaps }
}

/** What was told at one of the two positions. */
export function union(a: Position, b: Position): Position {
  const [low, top] = a.high <= b.high ? [a, b] : [b, a]
  // Up to low.high an id is missing where both miss it; above, where the higher one misses it.
  const gaps: Gap[] = []
  for (const gap of top.gaps) {
    for (const other of low.gaps) {
      const from = Math.max(gap.from, other.from)
      const to = Math.min(gap.to, other.to)
      if (from <= to) gaps.push({ from, to })
    }
    if (gap.to > low.high) gaps.push({ from: Math.max(gap.from, low.high + 1), to: gap.to })
  }
  return { high: top.high, gaps: gaps.toSorted(byStart) }
}

/** The position as if nothing beyond the id had been told. */
export function upTo(position: Position, id: number): Position {
  if (id >= position.high) return position
  const gaps = position.gaps
    .filter(({ from }) => from <= id)
    .map((gap) => ({ from: gap.from, to: Math.min(gap.to, id) }))
  return { high: id, gaps }
}

/** The position with these ids taken for gaps, where they were told before. */
export function reopen(position: Position, spans: readonly Span[]): Position {
  const opened = spans.flatMap((span) =>
    minus({ from: span.from, to: Math.min(span.to, position.high) }, position.gaps),
  )
  return { high: position.high, gaps: [...position.gaps, ...opened].toSorted(byStart) }
}

/** The ids that were told at `to` and not at `from`, beyond the id `after`. */
export function between(from: Position, to: Position, after: number): Span[] {
  const missing: Span[] = [...from.gaps, { from: from.high + 1, to: Infinity }]
  return missing
    .map((span) => ({ from: Math.max(span.from, after + 1), to: Math.min(span.to, to.high) }))
    .filter((span) => span.from <= span.to)
    .flatMap((span) => minus(span, to.gaps))
}

/** The same ids and some between them, in at most so many spans: the widest distances stay. */
export function coarsen(spans: readonly Span[], most: number): Span[] {
  if (spans.length <= most) return [...spans]
  const distance = (i: number): number => spans[i]!.from - spans[i - 1]!.to
  const byDistance = spans
    .map((_, i) => i)
    .slice(1)
    .toSorted((a, b) => distance(b) - distance(a))
  const starts = [0, ...byDistance.slice(0, most - 1).toSorted((a, b) => a - b)]
  return starts.map((start, i) => ({ from: spans[start]!.from, to: spans[(starts[i + 1] ?? spans.length) - 1]!.to }))
}

/** How many ids the gaps hold. */
export function missing(position: Position): number {
  return position.gaps.reduce((sum, { from, to }) => sum + to - from + 1, 0)
}

const byStart = (a: Span, b: Span): number => a.from - b.from

function inSpans(spans: readonly Span[], id: number): boolean {
  let low = 0
  let high = spans.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const span = spans[middle]!
    if (id < span.from) high = middle - 1
    else if (id > span.to) low = middle + 1
    else return true
  }
  return false
}

/** What is left of the gap when these ids, in ascending order, are taken out. */
function without(gap: Gap, ids: readonly number[]): Gap[] {
  const left: Gap[] = []
  let from = gap.from
  for (const id of ids) {
    if (id < from || id > gap.to) continue
    if (id > from) left.push({ ...gap, from, to: id - 1 })
    from = id + 1
  }
  if (from === gap.from) return [gap]
  if (from <= gap.to) left.push({ ...gap, from })
  return left
}

function minus(span: Span, holes: readonly Span[]): Span[] {
  const left: Span[] = []
  let from = span.from
  for (const hole of holes) {
    if (hole.to < from || hole.from > span.to) continue
    if (hole.from > from) left.push({ from, to: hole.from - 1 })
    from = hole.to + 1
  }
  if (from <= span.to) left.push({ from, to: span.to })
  return left
}
