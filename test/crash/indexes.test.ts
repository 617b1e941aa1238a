import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { entitiesOf, type Entities } from '../kinds/entity-support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let entities: Entities
let dataDir: string
let service: Service

beforeEach(async () => {
  database = await testDatabase()
  entities = entitiesOf(database)
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-crash-'))
  service = await started()
})
afterEach(async () => {
  if (service.runs()) await service.stop()
  await rm(dataDir, { recursive: true, force: true })
  await database.drop()
})

async function started(): Promise<Service> {
  const next = startService({
    dataDir,
    settings: {
      STELLWERK_ENV: 'development',
      DATABASE_URL: database.url,
      STELLWERK_HEARTBEAT_MS: '500',
      STELLWERK_DEAD_AFTER_MS: '2000',
      STELLWERK_MAINTENANCE_MS: '1000',
    },
  })
  await next.started()
  return next
}

const sessions = () =>
  database.sql<{ pid: number; query: string }>(
    `select pid, query from pg_stat_activity where application_name = 'stellwerk index' and datname = current_database()`,
  )
const building = () =>
  until(
    async () => {
      await entities.hurry()
      return (await sessions()).find(({ query }) => /^create index concurrently/i.test(query))
    },
    'a session builds',
    15_000,
  )

test('KINDS 8.4, X07: the process is killed in a build: the session dies soon after it, and one valid index comes of it', async () => {
  const type = await entities.type('product', { target: true })
  const price = await entities.attribute(type, { key: 'price', type: 'number' })
  await entities.typeReached(type, 'active')
  await entities.fill(type, 20_000, `jsonb_build_object('price', n)`)
  // Holds the build at its last phase, in which the index is ready and not valid.
  const holder = new Client({ connectionString: database.url })
  await holder.connect()
  await holder.query('begin isolation level repeatable read; select count(*) from mdm.aa_tenant')
  await entities.toggle(price, 'sortable = true')
  const { pid } = await building()
  await until(async () => (await entities.state(price)).status === 'building', 'it is being built', 10_000)
  service.signal('SIGKILL')
  await service.exited
  // KINDS 0.3: the server notices within two seconds that nobody listens any more, and lets the lock go.
  await until(async () => (await sessions()).every((session) => session.pid !== pid), 'the orphan is gone', 15_000)
  // What it left behind stops no writer.
  await entities.insert(type, { price: 'n/a' })
  await database.sql(
    `update mdm.ddm_entity set attributes = '{"price": 1}' where entity_type_id = $1 and attributes ->> 'price' = 'n/a'`,
    [type],
  )
  service = await started()
  await building()
  await holder.end()
  const { name } = await entities.reached(price, 'active', 20_000)
  expect((await entities.indexes()).filter((index) => index.name.startsWith('ix_entity_attr_'))).toMatchObject([
    { name, valid: true },
  ])
}, 60_000)

test('KINDS 8.4: killed at any point, again and again, it arrives at the same', async () => {
  const type = await entities.type('product')
  const attributes: string[] = []
  for (let n = 0; n < 4; n += 1)
    attributes.push(await entities.attribute(type, { key: `a${n}`, type: n % 2 === 0 ? 'number' : 'text' }))
  await entities.fill(type, 20_000, `jsonb_build_object('a0', n, 'a1', 'text ' || n, 'a2', n, 'a3', 'more ' || n)`)
  for (let round = 0; round < 2; round += 1) {
    for (const id of attributes) await entities.toggle(id, `searchable = ${round % 2 === 0}, sortable = true`)
    // Anywhere in the builds: after so many sessions have been seen.
    const seen = new Set<number>()
    await until(
      async () => {
        await entities.hurry()
        for (const session of await sessions()) seen.add(session.pid)
        return seen.size >= 1 + round
      },
      'builds have begun',
      20_000,
    )
    service.signal('SIGKILL')
    await service.exited
    await entities.insert(type, { a0: 'no number', a1: { b: 1 } })
    await database.sql(`delete from mdm.ddm_entity where attributes ->> 'a0' = 'no number'`)
    service = await started()
  }
  for (const id of attributes)
    await until(
      async () => {
        await entities.hurry()
        return (await entities.state(id)).status === 'active'
      },
      'the index is active',
      40_000,
    )
  await entities.quiet('index_sync')
  const found = await entities.indexes()
  expect(found.map(({ valid }) => valid)).toEqual([true, true, true, true])
  const names = await Promise.all(attributes.map(async (id) => (await entities.state(id)).name))
  expect(found.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
}, 180_000)
