import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { entitiesOf, type Entities } from './entity-support.ts'
import { startWorkers, type Workers } from './support.ts'

let database: TestDatabase
let entities: Entities
let workers: Workers

beforeAll(async () => {
  database = await testDatabase()
  entities = entitiesOf(database)
  await database.sql(`insert into mdm.aa_tenant (tenant_key, name) values ('other', 'Other')`)
  workers = await startWorkers(database)
})
afterAll(async () => {
  await workers?.stop()
  await database?.drop()
})

const holders: Client[] = []
afterEach(async () => {
  for (const client of holders.splice(0)) await client.end().catch(() => undefined)
})
async function holdSnapshot(): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: database.url })
  client.on('error', () => undefined)
  holders.push(client)
  await client.connect()
  await client.query('begin isolation level repeatable read; select count(*) from mdm.aa_tenant')
  return () => client.end()
}

const building = () =>
  until(
    async () =>
      (
        await database.sql<{ pid: number }>(
          `select pid from pg_stat_activity where application_name = 'stellwerk index' and datname = current_database() and state = 'active'
              and query ilike 'create index concurrently%' and wait_event_type = 'Lock'`,
        )
      )[0],
    'a build waits',
    10_000,
  )

const of = async (typeId: string) => (await entities.indexes()).filter(({ definition }) => definition.includes(typeId))

test('KINDS 9.1: the flag builds the index with the name of the seed, its end drops it', async () => {
  const type = await entities.type('customer')
  await entities.fill(type, 1_000, `jsonb_build_object('src', jsonb_build_object('sap', n))`)
  await database.sql('update mdm.ddm_entity_type set is_external_source_target = true where id = $1', [type])
  expect(await entities.typeReached(type, 'active')).toMatchObject({
    name: 'ix_entity_attributes_gin_customer',
    error: null,
  })
  expect(await of(type)).toEqual([
    {
      name: 'ix_entity_attributes_gin_customer',
      valid: true,
      definition: `CREATE INDEX ix_entity_attributes_gin_customer ON mdm.ddm_entity USING gin (attributes jsonb_path_ops) WITH (gin_pending_list_limit='512') WHERE (entity_type_id = '${type}'::uuid)`,
    },
  ])
  await database.sql('update mdm.ddm_entity_type set is_external_source_target = false where id = $1', [type])
  expect(await entities.typeReached(type, 'none')).toMatchObject({ name: null })
  expect(await of(type)).toEqual([])
})

test('KINDS 9.2: keys that are equal, or equal in their first 63 bytes, have indexes of their own', async () => {
  const long = 'a_very_long_name_of_a_type_of_entities_that_goes_on_for_ever_'
  const types = [
    await entities.type('twin', { target: true }),
    await entities.type('twin', { target: true, tenant: 'other' }),
    await entities.type(`${long}1`, { target: true }),
    await entities.type(`${long}2`, { target: true }),
    await entities.type('Twin', { target: true }),
    await entities.type(`x'); drop table mdm.ddm_entity;--`, { target: true }),
    await entities.type('Über-Größe 🙂', { target: true }),
    await entities.type('k'.repeat(38), { target: true }),
    await entities.type('k'.repeat(39), { target: true }),
  ]
  const names: string[] = []
  for (const type of types) {
    const { name } = await entities.typeReached(type, 'active', 30_000)
    expect(name).toMatch(/^ix_entity_attributes_gin_[a-z0-9_]{1,38}$/)
    expect(Buffer.byteLength(name!)).toBeLessThanOrEqual(63)
    names.push(name!)
    expect(await of(type)).toMatchObject([{ name, valid: true }])
  }
  expect(new Set(names).size).toBe(types.length)
  expect(names).toContain('ix_entity_attributes_gin_twin')
  expect(names).toContain(`ix_entity_attributes_gin_${'k'.repeat(38)}`)
})

test('KINDS 9.3: the flag set twice is one build', async () => {
  const type = await entities.type('twice')
  const on = () => database.sql('update mdm.ddm_entity_type set is_external_source_target = true where id = $1', [type])
  await Promise.all([on(), on()])
  await entities.typeReached(type, 'active')
  await on()
  const jobs = (await entities.jobs('gin_backfill')).filter(({ payload }) => payload.entity_type_id === type)
  expect(jobs).toMatchObject([{ result: { built: ['ix_entity_attributes_gin_twice'] } }])
})

test('KINDS 9.4: a build that is cut off leaves nothing, and is made again', async () => {
  const type = await entities.type('cut_off')
  const letGo = await holdSnapshot()
  await database.sql('update mdm.ddm_entity_type set is_external_source_target = true where id = $1', [type])
  const { pid } = await building()
  expect((await entities.typeState(type)).status).toBe('building')
  await database.sql('select pg_terminate_backend($1)', [pid])
  await until(async () => (await building()).pid !== pid, 'another session builds', 10_000)
  expect((await of(type)).filter(({ valid }) => valid)).toEqual([])
  await entities.insert(type, { anything: 'x'.repeat(100_000) })
  await letGo()
  await entities.typeReached(type, 'active')
  expect(await of(type)).toMatchObject([{ name: 'ix_entity_attributes_gin_cut_off', valid: true }])
})

test('KINDS 9.4: another index under its name is replaced', async () => {
  const type = await entities.type('replaced', { target: true })
  const { name } = await entities.typeReached(type, 'active')
  await database.sql(`drop index mdm.${name}`)
  await database.sql(`create index ${name} on mdm.ddm_entity using gin (attributes) where entity_type_id = '${type}'`)
  const job = await workers.enqueue({ kind: 'gin_backfill', payload: { type_key: 'replaced' } })
  await workers.reached(job, 'done')
  expect(await of(type)).toMatchObject([{ name, valid: true, definition: expect.stringContaining('jsonb_path_ops') }])
})

test('KINDS 9.5: it runs beside index_sync of the same table', async () => {
  const type = await entities.type('both')
  const attribute = await entities.attribute(type, { key: 'a' })
  await Promise.all([
    database.sql('update mdm.ddm_entity_type set is_external_source_target = true where id = $1', [type]),
    entities.toggle(attribute, 'searchable = true, sortable = true'),
  ])
  await entities.typeReached(type, 'active', 30_000)
  await entities.reached(attribute, 'active', 30_000)
  expect((await of(type)).map(({ valid }) => valid)).toEqual([true, true, true])
})

test('KINDS 9.6: writes go on during the build', async () => {
  const type = await entities.type('written')
  const letGo = await holdSnapshot()
  await database.sql('update mdm.ddm_entity_type set is_external_source_target = true where id = $1', [type])
  await building()
  for (let n = 0; n < 50; n += 1) await entities.insert(type, { n })
  await letGo()
  await entities.typeReached(type, 'active')
  const [row] = await database.sql<{ n: number }>(
    `select count(*)::int as n from mdm.ddm_entity where entity_type_id = '${type}' and attributes @> '{"n": 49}'`,
  )
  expect(row!.n).toBe(1)
})

test('the type of another tenant is none', async () => {
  const type = await entities.type('theirs', { tenant: 'other' })
  for (const payload of [{ entity_type_id: type }, { type_key: 'theirs' }]) {
    const { lastError } = await workers.reached(await workers.enqueue({ kind: 'gin_backfill', payload }), 'dlq')
    expect(lastError).toContain('no such entity type')
  }
})

test('a type that is deleted takes its index along', async () => {
  const type = await entities.type('deleted', { target: true })
  await entities.typeReached(type, 'active')
  await database.sql('delete from mdm.ddm_entity_type where id = $1', [type])
  await entities.quiet('gin_backfill')
  expect(await of(type)).toEqual([])
})
