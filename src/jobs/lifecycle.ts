/** Where a job is in its life (SPEC section 3). */
export const jobStatuses = ['pending', 'running', 'done', 'dlq', 'failed'] as const
export type JobStatus = (typeof jobStatuses)[number]

/** A change of a job: from where, to where, and the journal action that it writes. */
export interface Move {
  /** Statuses it starts from; `absent`: the job does not exist yet. */
  readonly from: readonly (JobStatus | 'absent')[]
  readonly to: JobStatus | 'deleted'
  /** Null: the claim alone writes no row; its facts stand on the job, then on the row that ends it (DESIGN section 4). */
  readonly action: JournalAction | null
  /** Whether it happens only while the row still carries the claim's lease. */
  readonly fenced: boolean
}

export type JournalAction =
  | 'job_enqueued'
  | 'job_updated'
  | 'job_rescheduled'
  | 'job_reprioritized'
  | 'job_done'
  | 'job_retry'
  | 'job_released'
  | 'job_recovered'
  | 'job_dlq'
  | 'job_stop_requested'
  | 'job_cancel_requested'
  | 'job_stop'
  | 'job_cancel'
  | 'job_replay'
  | 'job_discard'

/**
 * Every move there is. Each is one statement in src/sql; a test runs every move from every status on a real PostgreSQL,
 * so that this table and the SQL cannot drift (DESIGN law 3).
 */
export const moves = {
  enqueue: { from: ['absent'], to: 'pending', action: 'job_enqueued', fenced: false },
  /** By the process that starts it: enqueued at revision 1 and claimed at revision 2, in one statement. */
  enqueueClaimed: { from: ['absent'], to: 'running', action: 'job_enqueued', fenced: false },
  update: { from: ['pending'], to: 'pending', action: 'job_updated', fenced: false },
  claim: { from: ['pending'], to: 'running', action: null, fenced: false },
  finish: { from: ['running'], to: 'done', action: 'job_done', fenced: true },
  /** Another job of its kind does its work too (outbox_dispatch: one fan-out takes the events of those that wait). */
  absorb: { from: ['pending'], to: 'done', action: 'job_done', fenced: false },
  retry: { from: ['running'], to: 'pending', action: 'job_retry', fenced: true },
  bury: { from: ['running'], to: 'dlq', action: 'job_dlq', fenced: true },
  release: { from: ['running'], to: 'pending', action: 'job_released', fenced: true },
  obeyStop: { from: ['running'], to: 'failed', action: 'job_stop', fenced: true },
  obeyCancel: { from: ['running'], to: 'failed', action: 'job_cancel', fenced: true },
  recover: { from: ['running'], to: 'pending', action: 'job_recovered', fenced: true },
  recoverToDlq: { from: ['running'], to: 'dlq', action: 'job_dlq', fenced: true },
  requestStop: { from: ['running'], to: 'running', action: 'job_stop_requested', fenced: false },
  requestCancel: { from: ['running'], to: 'running', action: 'job_cancel_requested', fenced: false },
  stop: { from: ['pending', 'dlq'], to: 'failed', action: 'job_stop', fenced: false },
  cancel: { from: ['pending'], to: 'failed', action: 'job_cancel', fenced: false },
  reschedule: { from: ['pending'], to: 'pending', action: 'job_rescheduled', fenced: false },
  reprioritize: { from: ['pending'], to: 'pending', action: 'job_reprioritized', fenced: false },
  replay: { from: ['dlq', 'failed'], to: 'pending', action: 'job_replay', fenced: false },
  discard: { from: ['pending', 'dlq', 'failed'], to: 'deleted', action: 'job_discard', fenced: false },
} as const satisfies Record<string, Move>

export type MoveName = keyof typeof moves
