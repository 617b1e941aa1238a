import { createSecretBox } from '../../src/jobs/secret-box.ts'
import { drawWebhookSecret } from '../../src/jobs/webhook-signature.ts'
import { createWebhookEndpoint } from '../../src/sql/create-webhook-endpoint.ts'
import { publishEvent } from '../../src/sql/publish-event.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

/** The key of the tests' instances. */
export const secretKey = 'a key that the tests share'
/** Receivers of the tests listen on loopback. */
export const reachesLoopback = { STELLWERK_SECRET_KEY: secretKey, STELLWERK_WEBHOOK_ALLOW: '127.0.0.0/8' }
/** Quick tries, for what is to come again within a test. */
export const quickRetries = JSON.stringify({ backoff: { baseMs: 50, maxMs: 200, jitter: 0.1 } })

export interface TestEndpoint {
  readonly id: string
  readonly secret: string
}

export interface Delivery {
  readonly id: string
  readonly status: 'pending' | 'delivered' | 'dead' | 'held' | 'cancelled'
  readonly attempts: number
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly jobId: string | null
  readonly eventId: string
}

/** What the tests of the outbox do on their database. */
export function outboxOf(database: TestDatabase) {
  let tenantId: string
  const tenant = async (): Promise<string> =>
    (tenantId ??= (await database.sql<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`))[0]!
      .id)

  return {
    tenant,
    async endpoint(
      url: string,
      {
        eventTypes = ['*'],
        ordered = false,
        notifyEmail = null,
      }: { eventTypes?: readonly string[]; ordered?: boolean; notifyEmail?: string | null } = {},
    ): Promise<TestEndpoint> {
      const secret = drawWebhookSecret()
      const id = await tenant()
      const sealed = createSecretBox(secretKey).seal(secret, id)
      const [row] = await createWebhookEndpoint(
        database.pool,
        id,
        url,
        eventTypes,
        ordered,
        sealed,
        notifyEmail,
        'user:test',
        'r',
      )
      return { id: row!.id, secret }
    },
    /** Publishes as any SQL writer does; answers the event's id. */
    async publish(type: string, payload: unknown = {}, aggregate: string | null = null): Promise<string> {
      const [row] = await publishEvent(
        database.pool,
        await tenant(),
        type,
        aggregate === null ? null : 'thing',
        aggregate,
        JSON.stringify(payload),
      )
      return row!.eventId
    },
    /** Deliveries of an endpoint, oldest event first. */
    deliveries: (endpoint: TestEndpoint): Promise<Delivery[]> =>
      database.sql<Delivery>(
        `select id, status, attempts, last_status as "lastStatus", last_error as "lastError", job_id as "jobId", event_id as "eventId"
           from mdm.aa_webhook_delivery where subscription_id = $1 order by event_pk`,
        [endpoint.id],
      ),
    async reached(
      endpoint: TestEndpoint,
      statuses: readonly Delivery['status'][],
      withinMs = 25_000,
    ): Promise<Delivery[]> {
      return until(
        async () => {
          const deliveries = await this.deliveries(endpoint)
          const same = JSON.stringify(deliveries.map(({ status }) => status)) === JSON.stringify(statuses)
          return same ? deliveries : null
        },
        `the deliveries are ${statuses.join(', ')}`,
        withinMs,
      )
    },
    async state(endpoint: TestEndpoint) {
      const [row] = await database.sql<{
        status: string
        reason: string | null
        failures: number
        throttledMs: number
      }>(
        `select status, disabled_reason as reason, consecutive_failures as failures,
                coalesce(extract(epoch from throttle_until - now()), 0)::float8 * 1000 as "throttledMs"
           from mdm.aa_webhook_subscription where id = $1`,
        [endpoint.id],
      )
      return row!
    },
    /** Ends what a test leaves behind for its endpoints. */
    async clear(): Promise<void> {
      await database.sql(`update mdm.aa_webhook_subscription set status = 'paused', event_types = '{none}'`)
      await database.sql(`update mdm.aa_webhook_delivery set status = 'cancelled' where status = 'pending'`)
    },
  }
}
