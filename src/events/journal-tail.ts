import type { JobClaim, JournalRow } from '../jobs/job-event.ts'
import { jobActions } from '../jobs/job-event.ts'
import type { JournalAction } from '../jobs/lifecycle.ts'
import { findJournalGaps } from '../sql/find-journal-gaps.ts'
import { readJournalEnd } from '../sql/read-journal-end.ts'
import { readJournalTail, type JournalTailRow, type TailRow } from '../sql/read-journal-tail.ts'
import { readJournalWriters } from '../sql/read-journal-writers.ts'
import type { Queryable } from '../sql/statement.ts'
import { advance, coarsen, includes, reopen, type Gap, type Position, type Span } from './journal-position.ts'

/** What one look brought. */
export interface Look {
  readonly after: Position
  /** Ids of all new rows, in ascending order; also of those that are about no job. */
  readonly ids: readonly number[]
  readonly rows: readonly JournalRow[]
  /** Jobs that run under claims not told before. */
  readonly claims: readonly JobClaim[]
  /** There were more rows than one look takes. */
  readonly more: boolean
}

/** Follows the end of the journal and loses nothing that commits late. */
export interface JournalTail {
  /** When it was opened, by the database's clock. */
  readonly openedAt: Date
  position(): Position
  look(): Promise<Look>
  /** Ids that somebody still waits for: those from before the tail's start are looked for from now on, and answered. */
  reopen(gaps: readonly Span[]): readonly Span[]
}

/** How far before the newest id a tail looks for ids that are not visible yet. */
const startBehind = 100_000
const rowsAtOnce = 2_000
const askWritersEveryMs = 300
/** More gaps than this are looked for in fewer, wider spans. */
const spansAtOnce = 200
const endless = Number.MAX_SAFE_INTEGER

/** Finds the end of the journal as it is now. */
export async function openJournalTail(db: Queryable): Promise<JournalTail> {
  const start = await findEnd(db)
  return createTail(db, start)
}

/**
 * Every id up to the last one given out, but those that a transaction may still fill. The order of the three reads is what makes it right:
 * who drew an id before the first holds the lock at the second, or has ended and is seen by the third.
 */
export async function findEnd(db: Queryable): Promise<JournalEnd> {
  const [end] = await readJournalEnd(db)
  const { id: high, at } = end!
  const writers = new Set((await readJournalWriters(db)).map(({ writer }) => writer))
  if (writers.size === 0) return { at, position: { high, gaps: [] }, knownFrom: 1 }
  const knownFrom = Math.max(1, high - startBehind + 1)
  const gaps = high === 0 ? [] : await findJournalGaps(db, knownFrom, high)
  return { at, position: { high, gaps: gaps.map((gap) => ({ ...gap, waitsFor: writers })) }, knownFrom }
}

interface JournalEnd {
  readonly at: Date
  readonly position: Position
  /** Of ids before this one it is not known whether they can still come. */
  readonly knownFrom: number
}

function createTail(db: Queryable, { at: openedAt, position: start, knownFrom }: JournalEnd): JournalTail {
  let position = start
  let knownClaims: readonly number[] = []
  let askedAt = -Infinity

  const look = async (): Promise<Look> => {
    const before = position
    const ask = before.gaps.length > 0 && performance.now() - askedAt >= askWritersEveryMs
    const spans = [...coarsen(before.gaps, spansAtOnce), { from: before.high + 1, to: endless }]
    const found = await readJournalTail(
      db,
      spans.map(({ from }) => from),
      spans.map(({ to }) => to),
      rowsAtOnce,
      knownClaims,
      ask,
    )
    if (ask) askedAt = performance.now()

    const all = found.filter(isRow)
    const rows = all.filter(({ id }) => !includes(before, id)).toSorted((a, b) => a.id - b.id)
    const more = all.length >= rowsAtOnce
    const state = found.find((row) => row.what === 'state')!.payload
    if (!more) knownClaims = state.claims

    const ids = rows.map(({ id }) => id)
    const looked = more ? all.reduce((last, { id }) => Math.max(last, id), 0) : Infinity
    // What was reopened while this look was under way stays for the next one.
    const reopened = position.gaps.filter((gap) => !before.gaps.includes(gap))
    const moved = advance(before, ids)
    const waiting = moved.gaps.filter((gap) => gap.ripe !== true || gap.to > looked)
    const noted = state.writers === null ? waiting : noteWriters(waiting, new Set(state.writers))
    position = reopen({ high: moved.high, gaps: noted }, reopened)
    return {
      after: position,
      ids,
      rows: rows.filter(isAboutJob),
      claims: more ? [] : found.filter(isClaim).map(claimOf),
      more,
    }
  }

  return {
    openedAt,
    position: () => position,
    look,
    reopen(gaps) {
      const unknown = gaps.filter(({ from }) => from < knownFrom)
      const older = unknown.map(({ from, to }) => ({ from, to: Math.min(to, knownFrom - 1) }))
      position = reopen(position, older)
      return older
    },
  }
}

/**
 * Whoever can fill a gap held the journal's lock before it drew the id, and holds it until it has ended. So: note the holders seen after the
 * gap was; when none of them is left, look once more; what is missing then never comes. Snapshots alone do not tell: their xmax is only one
 * beyond the last transaction that ended, and the one that fills the gap may have a bigger number (tried: an event was lost). And an
 * unrelated transaction that stays open does not hold this lock, so it holds nothing back.
 */
function noteWriters(gaps: readonly Gap[], writers: ReadonlySet<string>): Gap[] {
  return gaps.map((gap) => {
    if (gap.waitsFor !== undefined) return gap.waitsFor.isDisjointFrom(writers) ? { ...gap, ripe: true } : gap
    return writers.size === 0 ? { ...gap, ripe: true } : { ...gap, waitsFor: writers }
  })
}

const actions: ReadonlySet<JournalAction> = new Set(jobActions)

/** Whether a row tells of a job's step; what else the journal keeps (an email that was sent, a pause) is none. */
export function isAboutJob(row: Omit<JournalTailRow, 'what'>): row is JournalTailRow & JournalRow {
  return row.jobId !== null && row.revision !== null && actions.has(row.action)
}

const isRow = (row: TailRow): row is JournalTailRow => row.what === 'row'
const isClaim = (row: TailRow): row is Extract<TailRow, { what: 'claim' }> => row.what === 'claim'

function claimOf({
  jobId,
  tenantId,
  kind,
  revision,
  at,
  attempt,
  worker,
}: Extract<TailRow, { what: 'claim' }>): JobClaim {
  return { jobId, tenantId, kind, revision, at, attempt, worker }
}
