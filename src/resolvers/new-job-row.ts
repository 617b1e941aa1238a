import type { BatchedJob } from '../sql/enqueue-batch.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { EnqueueOrder } from './enqueue-order.ts'

/** The row of a job that was just created, as it stood at the commit: what a read would answer, without one. */
export function newJobRow(order: EnqueueOrder, stored: BatchedJob, createdMs: number): JobRow {
  return {
    id: stored.jobId,
    tenantId: order.tenantId,
    kind: order.kind,
    status: 'pending',
    priority: stored.priority!,
    attempts: 0,
    maxAttempts: stored.maxAttempts!,
    runs: 0,
    revision: 1,
    claimRevision: null,
    createdAt: new Date(createdMs),
    availableAt: new Date(stored.availableMs ?? createdMs),
    claimedAt: null,
    heartbeatAt: null,
    completedAt: null,
    deadAt: null,
    claimedBy: null,
    payloadText: stored.payloadText!,
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
