import type { EnqueueOrder } from '../../src/resolvers/enqueue-order.ts'

/** An order of a job that is due at once, with nothing about it but what is given. */
export function enqueueOrder(given: Pick<EnqueueOrder, 'tenantId' | 'kind'> & Partial<EnqueueOrder>): EnqueueOrder {
  return {
    payloadText: '{}',
    priority: null,
    maxAttempts: null,
    schedule: null,
    idempotencyKey: null,
    replaces: false,
    tags: [],
    correlationId: null,
    traceContext: null,
    actor: 'user:ada',
    requestId: 'request',
    ...given,
  }
}
