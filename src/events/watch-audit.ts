import type { AuditMatchParams } from '../sql/audit-matches.ts'
import type { AuditRow } from '../sql/audit-row.ts'
import { readAuditSpans } from '../sql/read-audit-spans.ts'
import { readJournalStart } from '../sql/read-journal-start.ts'
import { createBell } from './bell.ts'
import type { Hub, Member } from './hub.ts'
import { between, isKept, union, upTo, type Position, type Span } from './journal-position.ts'
import { patiently } from './patiently.ts'
import { auditCursorOf, readAuditCursor } from './stream-cursor.ts'
import { StreamError } from './stream-error.ts'
import { createStream, type Stream } from './stream.ts'

export interface WatchAudit {
  /** What the lines have to be like, asked for each read: the reader's rights may change. Null: nothing can match. */
  readonly match: () => AuditFilterParams | null
  /** Resume after this cursor. Null: from now on. */
  readonly after: string | null
}

/** `AuditMatchParams` without its page. */
export type AuditFilterParams = AuditMatchParams extends [...infer Filter, unknown, unknown] ? Filter : never

/** A line of the audit log. */
export type AuditNews = AuditRow & {
  /** Passed as `after` the stream goes on behind this line. */
  readonly streamCursor: string
}

const rowsAtOnce = 500
const spansAtOnce = 200
const newest = '9223372036854775807'
const longestWaitMs = 3_600_000

/**
 * The audit log as it grows. The feed says how far the journal can be read without a hole; each stream reads by itself what lies
 * between its own position and that one, so that a slow reader holds up nobody and is never skipped.
 */
export function watchAudit(hub: Hub, { match, after }: WatchAudit): Stream<AuditNews> {
  const bell = createBell()
  let left = false
  const isLeft = (): boolean => left
  /** Everything up to here was told. */
  let position: Position | undefined
  let page: Page = { rows: [], next: 0, upTo: { high: 0, gaps: [] } }

  const member: Member = {
    jobId: null,
    wants: () => false,
    wantsProgress: false,
    news() {},
    tellProgress() {},
    missing() {},
    looked: () => bell.ring(),
    end: () => void stream.return(),
  }
  const feed = hub.enter(member)
  if (after === null && feed.isReady()) position = feed.window().position()

  const begin = async (): Promise<Position> => {
    const cursor = after === null ? null : readAuditCursor(after)
    await feed.ready
    if (cursor === null || left) return feed.start()
    const [start] = await patiently(() => readJournalStart(hub.db), isLeft)
    // As for streams of jobs: the cursor may come from an instance that was ahead of this one.
    await feed.catchUp()
    if (!isKept(cursor, start!)) throw forgotten()
    feed.reopen(cursor.position.gaps)
    return cursor.position
  }

  /** Lines that were not told yet; moves on over what matches nothing. False: there is nothing new. */
  const readPage = async (from: Position): Promise<boolean> => {
    const to = feed.window().position()
    const all = between(from, to, 0)
    if (all.length === 0) return false
    const spans = all.slice(0, spansAtOnce)
    const filter = match()
    const rows = filter === null ? [] : await patiently(() => read(filter, spans), isLeft)
    const isFull = rows.length >= rowsAtOnce
    const reached = isFull ? Number(rows.at(-1)!.id) : spans.length < all.length ? spans.at(-1)!.to : to.high
    page = { rows, next: 0, upTo: to }
    if (rows.length === 0) position = union(from, upTo(to, reached))
    else page = { ...page, end: union(from, upTo(to, reached)) }
    return true
  }

  const read = (filter: AuditFilterParams, spans: readonly Span[]): Promise<AuditRow[]> =>
    readAuditSpans(
      hub.db,
      ...filter,
      newest,
      rowsAtOnce,
      spans.map((span) => span.from),
      spans.map((span) => span.to),
    )

  const nextOfPage = (from: Position): AuditNews | undefined => {
    const row = page.rows[page.next]
    if (row === undefined) return undefined
    page.next += 1
    const isLast = page.next === page.rows.length
    position = isLast && page.end !== undefined ? page.end : union(from, upTo(page.upTo, Number(row.id)))
    return { ...row, streamCursor: auditCursorOf(position) }
  }

  const stream: Stream<AuditNews> = createStream({
    async pull() {
      position ??= await begin()
      while (!left) {
        const row = nextOfPage(position)
        if (row !== undefined) return row
        if (!(await readPage(position)) && !left) await bell.wait(longestWaitMs)
      }
      return undefined
    },
    release() {
      left = true
      hub.leave(member)
      bell.ring()
    },
  })
  return stream
}

interface Page {
  readonly rows: readonly AuditRow[]
  next: number
  /** What was visible when it was read. */
  readonly upTo: Position
  /** Where the stream stands after its last row. */
  readonly end?: Position
}

function forgotten(): StreamError {
  return new StreamError(
    'INVALID',
    'The journal does not reach back to the cursor given as `after`. Read the audit log anew and go on from its `streamCursor`.',
  )
}
