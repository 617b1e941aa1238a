import type { OutboxDispatchPayload } from '../../jobs/outbox-dispatch-payload.ts'
import type { Handler } from '../handler.ts'
import type { Deliver } from './webhooks/deliver.ts'
import type { FanOut } from './webhooks/fan-out.ts'

interface OutboxDispatchDeps {
  readonly fanOut: FanOut
  readonly deliver: Deliver
}

/** The two sorts of jobs of the outbox: one that spreads a tenant's events, and one for each event and endpoint. */
export function createOutboxDispatch({ fanOut, deliver }: OutboxDispatchDeps): Handler<OutboxDispatchPayload> {
  return (context) =>
    context.payload.phase === 'fanout' ? fanOut(context) : deliver(context, context.payload.delivery_id)
}
