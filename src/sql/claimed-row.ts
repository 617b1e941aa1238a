/** What a claim brings: only what the worker needs, as a tuple. */
export type ClaimedRow = [
  id: string,
  tenantId: string,
  kind: string,
  payloadText: string,
  attempts: number,
  maxAttempts: number,
  priority: number,
  /** Milliseconds since 1970 by the database's clock. */
  createdMs: number,
  availableMs: number,
  claimedMs: number,
  idempotencyKey: string | null,
  correlationId: string | null,
  claimId: string,
  /** What the statement had to walk past, if it was far; the same in each row. */
  met?: Met | 'busy' | null,
]

/**
 * Dead: claimed or gone, and still in the index. Foreign: of kinds that are not served. Pages: one of the two, of which the index says no more
 * than that they took pages.
 */
export type Met = 'dead' | 'foreign' | 'pages'

/** Why a claim brought nothing though something may be due. Busy: another claim had its turn. Locked: it found due jobs, and others had locked them all. */
export function heldUpBy(rows: readonly ClaimedRow[]): 'busy' | 'locked' | null {
  const [row] = rows
  if (rows.length !== 1 || (row![0] ?? null) !== null) return null
  return row![13] === 'busy' ? 'busy' : 'locked'
}
