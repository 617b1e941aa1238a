import { z } from 'zod'

/** What a job of `outbox_dispatch` does: spread a tenant's pending events over its endpoints, or carry one of them to one. */
export const outboxDispatchPayload = z.discriminatedUnion('phase', [
  z.strictObject({ phase: z.literal('fanout') }),
  z.strictObject({ phase: z.literal('deliver'), delivery_id: z.uuid() }),
])

export type OutboxDispatchPayload = z.infer<typeof outboxDispatchPayload>
