import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, verifies, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { ask } from './ask.ts'

let database: TestDatabase
let dataDir: string
let receiver: WebhookReceiver
let service: Service | undefined

beforeEach(async () => {
  database = await testDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-webhooks-'))
  receiver = await startWebhookReceiver()
})
afterEach(async () => {
  if (service?.runs()) await service.stop()
  await receiver.stop()
  await rm(dataDir, { recursive: true, force: true })
  await database.drop()
})

async function start(settings: Record<string, string> = {}): Promise<Service> {
  service = startService({
    dataDir,
    settings: {
      DATABASE_URL: database.url,
      STELLWERK_ENV: 'development',
      STELLWERK_WEBHOOK_ALLOW: '127.0.0.0/8',
      ...settings,
    },
  })
  await service.started()
  return service
}
const publish =
  'mutation { publishEvent(input: { type: "order.placed", payload: { n: 1 } }) { eventId errors { message } } }'

test('development makes its own key, and what it sealed opens after a restart', { timeout: 60_000 }, async () => {
  let running = await start()
  const { data } = await ask(
    running,
    `mutation { createWebhookEndpoint(input: { url: "${receiver.url}", eventTypes: ["*"] }) { endpoint { id } secret errors { message } } }`,
  )
  expect(data.createWebhookEndpoint.errors).toEqual([])
  const { secret } = data.createWebhookEndpoint
  const file = join(dataDir, 'secret.key')
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const key = await readFile(file, 'utf8')

  await ask(running, publish)
  await until(() => receiver.received.length === 1, 'the first arrives')
  await running.stop()
  running = await start()
  expect(await readFile(file, 'utf8')).toBe(key)
  await ask(running, publish)
  await until(() => receiver.received.length === 2, 'the second arrives')
  for (const request of receiver.received) expect(verifies(secret, request)).toBe(true)
  expect(running.output()).not.toContain(secret.slice(6))
})
