import type { ClaimedRow } from '../sql/claimed-row.ts'

/** One claim statement's group of jobs: its row in aa_claim goes when the end of the last of them has committed. */
export interface Claim {
  readonly id: string
  readonly lease: string
  /** Jobs whose end has not been committed yet. */
  open: number
  /** Whether a group that held its last ends was asked to drop its row. */
  dropping: boolean
}

/** A job in hand: from the claim until its end is committed or lost. */
export interface Run {
  readonly id: string
  readonly tenantId: string
  readonly kind: string
  readonly payloadText: string
  readonly attempts: number
  readonly maxAttempts: number
  readonly priority: number
  readonly createdMs: number
  readonly availableMs: number
  readonly claimedMs: number
  readonly idempotencyKey: string | null
  readonly correlationId: string | null
  readonly claim: Claim
  /** Monotonic milliseconds. */
  startedAt: number
  state: 'waiting' | 'running' | 'ended'
  /** Whether its end was counted down from the claim; a run that was given up may end twice. */
  counted: boolean
}

/** Told what a statement brought as soon as it has answered: a claim may take two, and the jobs of the first do not wait for the second. */
export type Receive = (runs: readonly Run[]) => void

/** The runs that a claim brought. */
export function runsOf(rows: readonly ClaimedRow[], lease: string): Run[] {
  const claim: Claim = { id: rows[0]?.[12] ?? '', lease, open: rows.length, dropping: false }
  return rows.map((row) => ({
    id: row[0],
    tenantId: row[1],
    kind: row[2],
    payloadText: row[3],
    attempts: row[4],
    maxAttempts: row[5],
    priority: row[6],
    createdMs: row[7],
    availableMs: row[8],
    claimedMs: row[9],
    idempotencyKey: row[10],
    correlationId: row[11],
    claim,
    startedAt: 0,
    state: 'waiting',
    counted: false,
  }))
}
