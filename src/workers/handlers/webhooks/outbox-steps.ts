import type { Pool } from 'pg'
import type { Wakeup } from '../../../events/wakeup.ts'
import { chainWebhook } from '../../../sql/chain-webhook.ts'
import { mendOutbox } from '../../../sql/mend-outbox.ts'
import { pruneDeliveries } from '../../../sql/prune-deliveries.ts'
import { pruneEvents } from '../../../sql/prune-events.ts'
import { alongKey } from '../along-key.ts'
import type { CleanupStep } from '../cleanup-jobs.ts'

interface OutboxStepsDeps {
  readonly pool: Pool
  readonly wakeup: Pick<Wakeup, 'signal'>
}

const batch = 1_000
const firstUuid = '00000000-0000-0000-0000-000000000000'
const eventDays = 7
const takenDays = 30
const missedDays = 90

/** What the outbox leaves to tidy: what lost its job gets one, what is over goes. */
export function outboxSteps({ pool, wakeup }: OutboxStepsDeps): CleanupStep[] {
  return [
    {
      name: 'outbox',
      async run({ signal }) {
        const [mended] = await mendOutbox(pool, batch)
        let made = mended?.made ?? 0
        for (const endpoint of mended?.ordered ?? []) {
          const [next] = await chainWebhook(pool, endpoint)
          if (next!.started) made += 1
        }
        if (made > 0) wakeup.signal('work')
        // Deliveries first: an event stays as long as somebody may still want it.
        const deliveries = await alongKey(firstUuid, signal, (after) =>
          pruneDeliveries(pool, takenDays, missedDays, after, batch),
        )
        const events = await alongKey('0', signal, (after) => pruneEvents(pool, eventDays, after, batch))
        return { outboxMended: made, outboxDeliveries: deliveries.deleted, outboxEvents: events.deleted }
      },
    },
  ]
}
