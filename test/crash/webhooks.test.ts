import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { mkdtemp, rm } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { outboxOf, quickRetries, reachesLoopback } from '../kinds/outbox-support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, verifies, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

const random = seededRandom()
const events = 200
const kills = 4

let database: TestDatabase
let supervisor: Supervisor
let dataDir: string
let plain: WebhookReceiver
let ordered: WebhookReceiver

beforeEach(async () => {
  database = await testDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-webhooks-'))
  supervisor = await createSupervisor({
    ...database,
    settings: {
      ...reachesLoopback,
      // Each death takes an attempt, and so does each refusal.
      STELLWERK_KIND_OUTBOX_DISPATCH: JSON.stringify({ ...JSON.parse(quickRetries), maxAttempts: 100 }),
    },
  })
  plain = await startWebhookReceiver()
  ordered = await startWebhookReceiver()
})
afterEach(async () => {
  await supervisor.end()
  await plain.stop()
  await ordered.stop()
  await rm(dataDir, { recursive: true, force: true })
  await database.drop()
})

test(
  `KINDS 5.3: kill -9 at random points of deliveries: none is lost, what comes twice is the same, and order holds (SEED=${random.seed})`,
  { timeout: 240_000 },
  async () => {
    const outbox = outboxOf(database)
    const endpoints = [
      [await outbox.endpoint(plain.url), plain],
      [await outbox.endpoint(ordered.url, { ordered: true }), ordered],
    ] as const
    let count = 0
    for (const receiver of [plain, ordered]) receiver.answer = () => ((count += 1) % 20 === 0 ? 503 : 200)

    let service = await supervisor.start({ dataDir })
    const publishing = (async () => {
      for (let nth = 0; nth < events; nth += 1)
        await outbox.publish('thing.changed', { thing: nth % 5, seq: Math.floor(nth / 5) + 1 }, String(nth % 5))
    })()
    for (let kill = 0; kill < kills; kill += 1) {
      const before = plain.received.length + ordered.received.length
      const more = 1 + random.below(60)
      await until(
        async () => {
          await supervisor.hasten()
          return plain.received.length + ordered.received.length >= before + more || plain.received.length >= events
        },
        'some more were received',
        30_000,
      )
      service.signal('SIGKILL')
      await service.exited
      service = await supervisor.start({ dataDir })
    }
    await publishing
    const open = () => database.sql(`select 1 from mdm.aa_webhook_delivery where status <> 'delivered' limit 1`)
    const born = () => database.sql(`select 1 from mdm.aa_webhook_delivery`)
    await until(
      async () => {
        await supervisor.hasten()
        return (await born()).length === 2 * events && (await open()).length === 0
      },
      'all are delivered',
      120_000,
    )

    let twice = 0
    for (const [endpoint, receiver] of endpoints) {
      const byId = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id'])
      expect(byId.size).toBe(events)
      for (const requests of byId.values()) {
        expect(new Set(requests.map(({ body }) => body)).size).toBe(1)
        expect(requests.every((request) => verifies(endpoint.secret, request))).toBe(true)
        twice += requests.length - 1
      }
    }
    // Refusals come again, and what was in hand when its process died; never more.
    expect(twice).toBeLessThanOrEqual(Math.ceil((2 * events) / 15) + kills * 8)
    const last = new Map<unknown, number>()
    const inversions = ordered.received.filter(({ event }) => {
      const seq = event.data['seq'] as number
      const before = last.get(event.data['thing']) ?? 0
      last.set(event.data['thing'], seq)
      return seq !== before && seq !== before + 1
    })
    expect(inversions).toEqual([])
  },
)
