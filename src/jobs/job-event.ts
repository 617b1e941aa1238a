import type { JobStatus, JournalAction } from './lifecycle.ts'

/** One row of the journal about a job. */
export interface JournalRow {
  /** Position in the journal: the order within a job, but not the order of commits over many jobs. */
  readonly id: number
  readonly at: Date
  readonly jobId: string
  readonly tenantId: string
  readonly kind: string | null
  readonly action: JournalAction
  readonly revision: number
  /** Only where it is not revision - 1. */
  readonly claimRevision: number | null
  /** How long the run took that this row ends; null: it ends none. */
  readonly runMs: number | null
  readonly attempt: number | null
  /** Number of the row in aa_worker. */
  readonly worker: number | null
  /** Null: the row's worker. */
  readonly actor: string | null
  readonly reason: string | null
  readonly payload: Readonly<Record<string, unknown>> | null
}

/** The claim that a job is under while it runs. */
export interface JobClaim {
  readonly jobId: string
  readonly tenantId: string
  readonly kind: string
  readonly revision: number
  readonly at: Date
  readonly attempt: number
  readonly worker: number | null
}

export type JobEventType =
  | 'ENQUEUED'
  | 'CLAIMED'
  | 'RETRY_SCHEDULED'
  | 'RELEASED'
  | 'RECOVERED'
  | 'SUCCEEDED'
  | 'DEAD_LETTERED'
  | 'REPLAYED'
  | 'CANCEL_REQUESTED'
  | 'CANCELLED'
  | 'STOPPED'
  | 'RESCHEDULED'
  | 'REPRIORITIZED'
  | 'UPDATED'
  | 'DISCARDED'

/** Why a run or a job failed, as the journal keeps it. */
export interface EventError {
  readonly message: string
  /** Class or code of the error. */
  readonly name: string | null
  /** Stack and causes: for callers who may read payloads. */
  readonly detail: string | null
  readonly fingerprint: string | null
}

/** One step in a job's life, told once per (job, revision). */
export interface JobEvent {
  /** `event_<job uuid>_<revision>` */
  readonly id: string
  readonly jobId: string
  readonly tenantId: string
  readonly kind: string | null
  readonly revision: number
  readonly type: JobEventType
  readonly at: Date
  /** Null: it did not exist. */
  readonly fromStatus: JobStatus | null
  /** Null: it does not exist any more. */
  readonly toStatus: JobStatus | null
  /** The run it belongs to: counts over replays. */
  readonly attempt: number | null
  /** Number of the row in aa_worker. */
  readonly workerId: number | null
  /** `user:<sub>`, `service:<sub>`, `sql:<role>`, `system:<what>`; null: the worker. */
  readonly actor: string | null
  readonly error: EventError | null
  readonly availableAt: Date | null
  readonly reason: string | null
  /** The priority before this event, if it changed. */
  readonly fromPriority: number | null
}

interface Meaning {
  readonly type: JobEventType
  /** Where the row's payload does not say otherwise. */
  readonly from: JobStatus | null
  readonly to: JobStatus | null
}

const meanings: Readonly<Record<JournalAction, Meaning>> = {
  job_enqueued: { type: 'ENQUEUED', from: null, to: 'pending' },
  job_updated: { type: 'UPDATED', from: 'pending', to: 'pending' },
  job_rescheduled: { type: 'RESCHEDULED', from: 'pending', to: 'pending' },
  job_reprioritized: { type: 'REPRIORITIZED', from: 'pending', to: 'pending' },
  job_done: { type: 'SUCCEEDED', from: 'running', to: 'done' },
  job_retry: { type: 'RETRY_SCHEDULED', from: 'running', to: 'pending' },
  job_released: { type: 'RELEASED', from: 'running', to: 'pending' },
  job_recovered: { type: 'RECOVERED', from: 'running', to: 'pending' },
  job_dlq: { type: 'DEAD_LETTERED', from: 'running', to: 'dlq' },
  job_stop_requested: { type: 'CANCEL_REQUESTED', from: 'running', to: 'running' },
  job_cancel_requested: { type: 'CANCEL_REQUESTED', from: 'running', to: 'running' },
  job_stop: { type: 'STOPPED', from: 'pending', to: 'failed' },
  job_cancel: { type: 'CANCELLED', from: 'pending', to: 'failed' },
  job_replay: { type: 'REPLAYED', from: 'dlq', to: 'pending' },
  job_discard: { type: 'DISCARDED', from: 'pending', to: null },
}

/** Every journal action that is about a job. */
export const jobActions = Object.keys(meanings) as readonly JournalAction[]

/**
 * The events that a journal row stands for, in order of revision: the claim wrote no row of its own, so the row of a move out of
 * `running` tells it too.
 */
export function jobEventsOf(row: JournalRow): JobEvent[] {
  const event = eventOf(row)
  return carriesClaim(row, event) ? [claimBefore(row), event] : [event]
}

/** The claim of a job that still runs, as an event. */
export function claimedEventOf(claim: JobClaim): JobEvent {
  return {
    ...blank,
    ...claim,
    id: eventId(claim.jobId, claim.revision),
    type: 'CLAIMED',
    fromStatus: 'pending',
    toStatus: 'running',
    workerId: claim.worker,
  }
}

/** The node id of an event; a claim has no row of its own, but an id all the same. */
export function eventId(jobId: string, revision: number): string {
  return `event_${jobId}_${revision}`
}

const blank = { actor: null, error: null, availableAt: null, reason: null, fromPriority: null } as const

/** A stop request says so by its run time: it ends no run, but without it the claim would be told after it. */
function carriesClaim(row: JournalRow, event: JobEvent): boolean {
  if (event.fromStatus !== 'running') return false
  return event.toStatus !== 'running' || row.runMs !== null
}

function claimBefore(row: JournalRow): JobEvent {
  return claimedEventOf({
    jobId: row.jobId,
    tenantId: row.tenantId,
    kind: row.kind ?? '',
    revision: row.claimRevision ?? row.revision - 1,
    at: new Date(row.at.getTime() - (row.runMs ?? 0)),
    attempt: row.attempt ?? 0,
    worker: row.worker,
  })
}

function eventOf(row: JournalRow): JobEvent {
  const { type, from, to } = meanings[row.action]
  const payload = row.payload ?? {}
  return {
    id: eventId(row.jobId, row.revision),
    jobId: row.jobId,
    tenantId: row.tenantId,
    kind: row.kind,
    revision: row.revision,
    type,
    at: row.at,
    fromStatus: (textIn(payload, 'from') ?? statusIn(payload['snapshot']) ?? from) as JobStatus | null,
    toStatus: to,
    attempt: row.attempt,
    workerId: row.worker,
    actor: row.actor,
    error: errorIn(payload),
    availableAt: timeIn(payload, 'available_at'),
    reason: row.reason,
    fromPriority: typeof payload['from_priority'] === 'number' ? payload['from_priority'] : null,
  }
}

function errorIn(payload: Readonly<Record<string, unknown>>): EventError | null {
  const message = textIn(payload, 'last_error')
  if (message === null) return null
  return {
    message,
    name: textIn(payload, 'name'),
    detail: textIn(payload, 'detail'),
    fingerprint: textIn(payload, 'fingerprint'),
  }
}

function statusIn(snapshot: unknown): string | null {
  if (typeof snapshot !== 'object' || snapshot === null) return null
  return textIn(snapshot as Record<string, unknown>, 'status')
}

function textIn(payload: Readonly<Record<string, unknown>>, key: string): string | null {
  const value = payload[key]
  return typeof value === 'string' ? value : null
}

function timeIn(payload: Readonly<Record<string, unknown>>, key: string): Date | null {
  const text = textIn(payload, key)
  const time = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? null : new Date(time)
}
