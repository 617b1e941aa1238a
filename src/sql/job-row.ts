import type { JobStatus } from '../jobs/lifecycle.ts'

/** A job as it is read: times as instants of the database's clock, payload and result as the stored text so that numbers stay exact. */
export interface JobRow {
  readonly id: string
  readonly tenantId: string
  readonly kind: string
  readonly status: JobStatus
  readonly priority: number
  readonly attempts: number
  readonly maxAttempts: number
  readonly runs: number
  readonly revision: number
  readonly claimRevision: number | null
  readonly createdAt: Date
  readonly availableAt: Date
  readonly claimedAt: Date | null
  readonly heartbeatAt: Date | null
  readonly completedAt: Date | null
  readonly deadAt: Date | null
  readonly claimedBy: string | null
  readonly payloadText: string
  readonly resultText: string | null
  readonly lastError: string | null
  readonly errorFingerprint: string | null
  readonly progress: Record<string, unknown> | null
  readonly stopCause: 'cancelled' | 'stopped' | null
  readonly stopRequestedAt: Date | null
  readonly stopRequestedBy: string | null
  readonly stopReason: string | null
  readonly idempotencyKey: string | null
  readonly tags: string[] | null
  readonly correlationId: string | null
  readonly traceContext: string | null
  readonly enqueuedBy: string | null
}

/** The select list that makes a JobRow of the alias `j`. */
export const jobRowColumns = `j.id, j.tenant_id as "tenantId", j.job_kind as kind, j.status, j.priority, j.attempts, j.max_attempts as "maxAttempts", j.runs,
       j.revision, j.claim_revision as "claimRevision", j.created_at as "createdAt", j.available_at as "availableAt", j.claimed_at as "claimedAt",
       j.heartbeat_at as "heartbeatAt", j.completed_at as "completedAt", j.dead_at as "deadAt", j.claimed_by as "claimedBy",
       j.payload::text as "payloadText", j.result::text as "resultText", j.last_error as "lastError", j.error_fingerprint as "errorFingerprint", j.progress,
       j.stop_cause as "stopCause", j.stop_requested_at as "stopRequestedAt", j.stop_requested_by as "stopRequestedBy", j.stop_reason as "stopReason",
       j.idempotency_key as "idempotencyKey", j.tags, j.correlation_id as "correlationId", j.trace_context as "traceContext", j.enqueued_by as "enqueuedBy"`
