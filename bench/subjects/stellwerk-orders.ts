import { defineKind, z, type OwnKind } from '../../src/index.ts'
import type { EnqueueOrder } from '../../src/resolvers/enqueue-order.ts'
import { withClient } from '../measure.ts'

/** A kind that tells which of its jobs started. */
export function pickupKind(started: (i: number) => void): OwnKind {
  return defineKind({
    name: 'bench_pickup',
    payload: z.object({ i: z.int() }),
    example: { i: 0 },
    run: async ({ payload }) => started(payload.i),
  })
}

/** Makes orders as the API hands them on, once it has checked them. */
export async function enqueueOrder(url: string): Promise<(kind: string, i: number) => EnqueueOrder> {
  const tenantId = await withClient(url, async (client) => {
    const { rows } = await client.query<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`)
    return rows[0]!.id
  })
  return (kind, i) => ({
    tenantId,
    kind,
    payloadText: JSON.stringify({ i }),
    priority: null,
    schedule: null,
    maxAttempts: null,
    idempotencyKey: null,
    replaces: false,
    tags: [],
    correlationId: null,
    traceContext: null,
    actor: 'service:bench',
    requestId: 'bench',
  })
}
