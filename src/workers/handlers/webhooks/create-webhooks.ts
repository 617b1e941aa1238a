import type { Pool } from 'pg'
import type { Config } from '../../../config.ts'
import type { Wakeup } from '../../../events/wakeup.ts'
import type { Events } from '../../../jobs/event.ts'
import { webhookSlots } from '../../../jobs/kinds.ts'
import type { OutboxDispatchPayload } from '../../../jobs/outbox-dispatch-payload.ts'
import { createSecretBox } from '../../../jobs/secret-box.ts'
import type { Handler } from '../../handler.ts'
import { createOutboxDispatch } from '../outbox-dispatch.ts'
import { createDeliver } from './deliver.ts'
import { createFanOut } from './fan-out.ts'
import { createPlaces } from './places.ts'
import { createWebhookSender } from './send-webhook.ts'
import { createWebhookAgent } from './webhook-agent.ts'

/** All that sends webhooks in this process. */
export interface Webhooks {
  readonly handler: Handler<OutboxDispatchPayload>
  stop(): Promise<void>
}

interface WebhooksDeps {
  readonly config: Pick<Config, 'env' | 'secretKey' | 'webhookAllow'>
  readonly pool: Pool
  readonly wakeup: Pick<Wakeup, 'signal'>
  readonly events: Events
}

export function createWebhooks({ config, pool, wakeup, events }: WebhooksDeps): Webhooks {
  const reach = { allow: config.webhookAllow, strict: config.env === 'production' }
  const agent = createWebhookAgent(reach)
  return {
    handler: createOutboxDispatch({
      fanOut: createFanOut({ wakeup, random: Math.random }),
      deliver: createDeliver({
        pool,
        wakeup,
        events,
        send: createWebhookSender({ agent, reach }),
        places: createPlaces({ most: webhookSlots, mostFailing: webhookSlots / 2 }),
        secrets: config.secretKey === null ? null : createSecretBox(config.secretKey),
      }),
    }),
    stop: () => agent.destroy(),
  }
}
