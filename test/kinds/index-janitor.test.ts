import { afterAll, beforeAll, expect, test } from 'vitest'
import { enqueueIndexRepairs } from '../../src/sql/enqueue-index-repairs.ts'
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
  workers = await startWorkers(database)
})
afterAll(async () => {
  await workers?.stop()
  await database?.drop()
})

const tick = async () => {
  const [row] = await enqueueIndexRepairs(database.pool, 'system:cleanup_jobs')
  return row!.jobs
}
/** As a build leaves it that was cut off in a late phase. */
const invalidate = (name: string) =>
  database.sql(`update pg_index set indisvalid = false where indexrelid = 'mdm.${name}'::regclass`)
const all = async () => (await entities.indexes()).map(({ name, valid }) => ({ name, valid }))

test('KINDS 6, X02: what broken builds left behind gets a job; what is right or on its way gets none', async () => {
  const type = await entities.type('tidy', { target: true })
  const a = await entities.attribute(type, { key: 'a', sortable: true })
  const b = await entities.attribute(type, { key: 'b', searchable: true })
  const names = [(await entities.reached(a, 'active')).name!, (await entities.reached(b, 'active')).name!]
  const gin = (await entities.typeReached(type, 'active')).name!
  expect(await tick()).toBe(0)

  await invalidate(names[0]!)
  await invalidate(gin)
  await database.sql(`create index ix_entity_attr_orphan_0123abcd on mdm.ddm_entity (id)`)
  expect(await tick()).toBe(3)
  // Once is enough, as long as those are open.
  await entities.quiet('index_sync')
  await entities.quiet('gin_backfill')
  expect((await all()).toSorted((x, y) => x.name.localeCompare(y.name))).toEqual(
    [...names, gin].toSorted((x, y) => x.localeCompare(y)).map((name) => ({ name, valid: true })),
  )
  expect(await tick()).toBe(0)
})

test('KINDS 6: an index that is said to be on its way, and is not, gets a job once', async () => {
  const type = await entities.type('forgotten')
  const a = await entities.attribute(type, { key: 'a', sortable: true })
  const b = await entities.attribute(type, { key: 'b' })
  await entities.reached(a, 'active')
  await database.sql(`update mdm.ddm_entity_type_attribute set index_status = 'building' where id = $1`, [a])
  await database.sql(`update mdm.ddm_entity_type_attribute set index_status = 'pending' where id = $1`, [b])
  await database.sql(`update mdm.ddm_entity_type set gin_index_status = 'building' where id = $1`, [type])
  await workers.stop()
  expect(await tick()).toBe(3)
  expect(await tick()).toBe(0)
  workers = await startWorkers(database)
  await entities.reached(a, 'active')
  await entities.reached(b, 'none')
  await entities.typeReached(type, 'none')
})

test('cleanup_jobs does so', async () => {
  const type = await entities.type('swept')
  const a = await entities.attribute(type, { key: 'a', sortable: true })
  await entities.reached(a, 'active')
  await database.sql(`update mdm.ddm_entity_type_attribute set index_status = 'building' where id = $1`, [a])
  const job = await workers.enqueue({ kind: 'cleanup_jobs', payload: {}, tenant: 'platform' })
  expect((await workers.reached(job, 'done')).result).toMatchObject({ indexJobs: 1 })
  await entities.reached(a, 'active')
})

test('KINDS 8: what is said of an index follows its job out of the queue and back', async () => {
  await workers.stop()
  const type = await entities.type('followed', { target: true })
  const a = await entities.attribute(type, { key: 'a', sortable: true })
  const job = (kind: string) =>
    `(select id from mdm.aa_job where job_kind = '${kind}' and status <> 'done' and (payload ->> 'attribute_id' = '${a}' or payload ->> 'entity_type_id' = '${type}'))`
  await database.sql(
    `update mdm.aa_job set status = 'failed', last_error = 'Not now.' where id in ${job('index_sync')}`,
  )
  expect(await entities.state(a)).toMatchObject({ status: 'failed', error: { code: 'job_ended', message: 'Not now.' } })
  await database.sql(
    `update mdm.aa_job set status = 'pending', attempts = 0, available_at = now() where id in ${job('index_sync')}`,
  )
  expect((await entities.state(a)).status).toBe('pending')
  await database.sql(`delete from mdm.aa_job where id in ${job('index_sync')}`)
  expect((await entities.state(a)).status).toBe('failed')
  await database.sql(`delete from mdm.aa_job where id in ${job('gin_backfill')}`)
  expect(await entities.typeState(type)).toMatchObject({ status: 'failed', error: { code: 'job_ended' } })
  // What is failed is nobody's to repair but a person's.
  expect(await tick()).toBe(0)
  // A job of another tenant has no say in it.
  await entities.toggle(a, 'sortable = false')
  const [foreign] = await database.sql<{ id: string }>(
    `select job_id as id from mdm.enqueue_job('index_sync', jsonb_build_object('attribute_id', $1::text), 'platform')`,
    [a],
  )
  await database.sql(`update mdm.aa_job set status = 'failed' where id = $1`, [foreign!.id])
  await database.sql(
    `update mdm.aa_job set status = 'failed', last_error = 'Not now.' where id in ${job('index_sync')}`,
  )
  await entities.toggle(a, 'sortable = true')
  await database.sql(`delete from mdm.aa_job where id = $1`, [foreign!.id])
  expect((await entities.state(a)).status).toBe('pending')
  await database.sql(`delete from mdm.aa_job where id in ${job('index_sync')}`)
  // A payload that names nothing moves all the same.
  await database.sql(`select mdm.enqueue_job('index_sync', '{"attribute_id": "nonsense"}')`)
  await database.sql(`update mdm.aa_job set status = 'failed' where payload ->> 'attribute_id' = 'nonsense'`)
  workers = await startWorkers(database)
  await until(async () => (await tick()) === 0, 'nothing is left', 10_000)
})
