import type { Position } from './journal-position.ts'
import { StreamError } from './stream-error.ts'

/** Where a stream of many jobs stands. */
export interface JobsCursor {
  readonly position: Position
  /** When it was given out, in whole minutes since 1970: whether the history still reaches back so far. */
  readonly minute: number
  /** Claims that were told and whose end was not: a claim has no id in the journal. Names made by `claimName`. */
  readonly claims: ReadonlySet<string>
}

/** More would make the cursor long. Gaps beyond: it goes back to the last id before the first one. Claims beyond: they are told again. */
const most = 64

/** The cursor of the audit log's stream: everything up to the position was told. */
export function auditCursorOf(position: Position): string {
  return `audit.${jobsCursorOf({ position, minute: minuteNow(), claims: new Set() }).slice('jobs.'.length)}`
}

/** The position up to which the audit log was told. */
export function readAuditCursor(cursor: string): JobsCursor {
  if (!cursor.startsWith('audit.')) throw unreadable('`auditLog`', '`streamCursor` of the audit log')
  return readCursor(`jobs.${cursor.slice('audit.'.length)}`, '`auditLog`', '`streamCursor` of the audit log')
}

/** The cursor of one job's stream: everything up to the revision was told. */
export function jobCursorOf(jobId: string, revision: number): string {
  return `job.${jobId}.${revision}`
}

/** The revision up to which this job's stream was told. */
export function readJobCursor(cursor: string, jobId: string): number {
  const [, id, revision] = /^job\.([0-9a-f-]{36})\.(\d{1,10})$/.exec(cursor) ?? []
  if (id === undefined || revision === undefined) throw unreadable('`job`', '`cursor` or `streamCursor` of this job')
  if (id !== jobId) throw new StreamError('INVALID', 'The cursor given as `after` belongs to another job.')
  return Number(revision)
}

/** A short name of a claim, for cursors: 48 random bits of the job's id and the end of the revision. */
export function claimName(jobId: string, revision: number): string {
  const random = Buffer.from(jobId.slice(-12), 'hex').toString('base64url')
  return random + (revision % 1296).toString(36).padStart(2, '0')
}

/** Whole minutes since 1970, by the process' clock. */
export function minuteNow(): number {
  return Math.floor(Date.now() / 60_000)
}

export function jobsCursorOf({ position, minute, claims }: JobsCursor): string {
  const { high, gaps } = position.gaps.length > most ? { high: position.gaps[0]!.from - 1, gaps: [] } : position
  const spans = gaps.map(({ from, to }) => [high - to, to - from].map((n) => n.toString(36)).join('-'))
  // In order: the same claims are the same cursor, whoever tells them.
  const names = [...claims].slice(-most).toSorted()
  return ['jobs', high.toString(36), minute.toString(36), spans.join('_'), names.join('')].join('.')
}

/** Whether the cursor says all of it: nothing had to be left out. */
export function isExactCursor({ position, claims }: JobsCursor): boolean {
  return position.gaps.length <= most && claims.size <= most
}

export function readJobsCursor(cursor: string): JobsCursor {
  return readCursor(cursor, '`jobs`', '`cursor` or `streamCursor` of a list')
}

function readCursor(cursor: string, stream: string, what: string): JobsCursor {
  const parts =
    /^jobs\.([0-9a-z]{1,11})\.([0-9a-z]{1,8})\.((?:[0-9a-z]{1,11}-[0-9a-z]{1,11}_?)*)\.((?:[\w-]{8}[0-9a-z]{2})*)$/.exec(
      cursor,
    )
  if (parts === null || cursor.length > 4_000) throw unreadable(stream, what)
  const [high, minute] = [Number.parseInt(parts[1]!, 36), Number.parseInt(parts[2]!, 36)]
  const gaps = parts[3]!
    .split('_')
    .filter(Boolean)
    .map((span) => {
      const [back, more] = span.split('-').map((n) => Number.parseInt(n, 36)) as [number, number]
      return { from: high - back - more, to: high - back }
    })
  const apart = gaps.every(({ from }, i) => from > (gaps[i - 1]?.to ?? 0))
  // Ids are numbers: 100,000 events a second reach 2^53 in 2,800 years. What is beyond was never given out.
  if (!Number.isSafeInteger(high) || !apart) throw unreadable(stream, what)
  return { position: { high, gaps }, minute, claims: new Set(parts[4]!.match(/.{10}/g)) }
}

function unreadable(stream: string, what: string): StreamError {
  return new StreamError(
    'INVALID',
    `The cursor given as \`after\` is none of the ${stream} stream. Pass a ${what}, or none.`,
  )
}
