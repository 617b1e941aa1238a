import type { ClaimedRow } from '../sql/claimed-row.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { EnqueueOrder } from './enqueue-order.ts'

/** What the database made of an order. Milliseconds since 1970 by its clock. */
interface StoredJob {
  readonly jobId: string
  readonly createdMs: number
  readonly availableMs: number
  readonly payloadText: string
  readonly priority: number
  readonly maxAttempts: number
}

/** The row of a job that was just created, as it stood at the commit: what a read would answer, without one. */
export function newJobRow(order: EnqueueOrder, stored: StoredJob): JobRow {
  return {
    id: stored.jobId,
    tenantId: order.tenantId,
    kind: order.kind,
    status: 'pending',
    priority: stored.priority,
    attempts: 0,
    maxAttempts: stored.maxAttempts,
    runs: 0,
    revision: 1,
    claimRevision: null,
    createdAt: new Date(stored.createdMs),
    availableAt: new Date(stored.availableMs),
    claimedAt: null,
    heartbeatAt: null,
    completedAt: null,
    deadAt: null,
    claimedBy: null,
    payloadText: stored.payloadText,
    resultText: null,
    lastError: null,
    errorFingerprint: null,
    progress: null,
    stopCause: null,
    stopRequestedAt: null,
    stopRequestedBy: null,
    stopReason: null,
    idempotencyKey: order.idempotencyKey,
    tags: order.tags.length > 0 ? [...order.tags] : null,
    correlationId: order.correlationId,
    traceContext: order.traceContext,
    enqueuedBy: order.actor,
  }
}

/** The same of a job that went in claimed. */
export function claimedJobRow(order: EnqueueOrder, claimed: ClaimedRow, claimedBy: string): JobRow {
  const [jobId, , , payloadText, attempts, maxAttempts, priority, createdMs, , claimedMs] = claimed
  return {
    ...newJobRow(order, { jobId, createdMs, availableMs: createdMs, payloadText, priority, maxAttempts }),
    status: 'running',
    attempts,
    runs: 1,
    revision: 2,
    claimRevision: 2,
    claimedAt: new Date(claimedMs),
    claimedBy,
  }
}
