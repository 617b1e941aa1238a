import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { entitiesOf, type Entities } from '../kinds/entity-support.ts'
import { startWorkers, type Workers } from '../kinds/support.ts'
import { until } from '../support/until.ts'
import { admin, testApi, type TestApi } from './support.ts'

let api: TestApi
let workers: Workers
let entities: Entities
let type: string
const indexes: Record<string, string> = {}
/** What the server says of the plans of the API's own sessions. */
const plans: string[] = []

beforeAll(async () => {
  api = await testApi()
  const name = new URL(api.url).pathname.slice(1)
  // Sessions from here on explain what they execute, to the client. The statements inside of triggers and functions are not of interest.
  await api.sql(`alter database ${name} set session_preload_libraries = 'auto_explain'`)
  await api.sql(`alter database ${name} set auto_explain.log_min_duration = 0`)
  await api.sql(`alter database ${name} set auto_explain.log_level = 'notice'`)
  // The start's own notification has opened one.
  await api.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'stellwerk api'`,
  )
  api.deps.pools.api.on('connect', (client) => client.on('notice', ({ message }) => void plans.push(message ?? '')))
  entities = entitiesOf(api)
  workers = await startWorkers(api, { kinds: ['reindex'] })
  type = await entities.type('product', { target: true })
  await entities.fill(
    type,
    20_000,
    `jsonb_build_object('price', n, 'name', 'Item number ' || n, 'day', '2024-01-01'::date + n % 3000, 'src', jsonb_build_object('sap', n))`,
  )
  for (const [key, kind] of [
    ['price', 'number'],
    ['name', 'text'],
    ['day', 'date'],
  ] as const) {
    const id = await entities.attribute(type, { key, type: kind, searchable: true, sortable: true })
    indexes[key] = (await entities.reached(id, 'active', 60_000)).name!
  }
  indexes.src = (await entities.typeReached(type, 'active', 60_000)).name!
  const found = await entities.indexes()
  indexes.contains = found.find(({ definition }) => definition.includes('gin_trgm_ops'))!.name
  await entities.quiet('reindex', 60_000)
  await api.sql('vacuum analyze mdm.ddm_entity')
}, 120_000)
afterAll(async () => {
  await workers?.stop()
  await api?.stop()
})

const query = `query Q($type: ID!, $filter: EntityFilter, $orderBy: EntityOrder) {
  entities(typeId: $type, filter: $filter, orderBy: $orderBy, first: 5) { nodes { attributes } } }`
const by = (filter: Record<string, unknown>) => ({ filter: { attributes: [filter] } })

test.each([
  ['KINDS 8.1: a sort', 'price', { orderBy: { key: 'price' } }, 1],
  ['a sort the other way', 'price', { orderBy: { key: 'price', direction: 'DESC' } }, 20_000],
  ['a number', 'price', by({ key: 'price', eq: 77 }), 77],
  ['a range', 'price', { ...by({ key: 'price', gte: 100, lt: 103 }), orderBy: { key: 'price' } }, 100],
  ['a date', 'day', by({ key: 'day', eq: '2024-01-08' }), 7],
  ['a text', 'name', by({ key: 'name', eq: 'Item number 4711' }), 4_711],
  ['a part of a text', 'contains', by({ key: 'name', contains: 'NUMBER 4711' }), 4_711],
  ['KINDS 9.1: a part of the JSON', 'src', { filter: { matches: { src: { sap: 4_711 } } } }, 4_711],
] as const)('%s goes along its index, also for the 10th time', async (_, index, variables, price) => {
  for (let n = 1; n <= 12; n += 1) {
    plans.length = 0
    const { data, errors } = await api.run(query, { type, ...variables }, admin)
    expect(errors).toEqual([])
    expect(data.entities.nodes[0].attributes.price).toBe(price)
    const told = await until(() => (plans.length > 0 ? plans.join('\n') : null), 'the plans are told')
    expect(told).toContain(indexes[index])
    expect(told).not.toContain('Seq Scan on ddm_entity ')
  }
})

test('a rare word among many entities is looked up, not searched for in their order', async () => {
  plans.length = 0
  const { data } = await api.run(query, { type, filter: { search: '4711' }, orderBy: { key: 'day' } }, admin)
  expect(data.entities.nodes).toMatchObject([{ attributes: { price: 4_711 } }])
  expect(plans.join('\n')).toContain('Bitmap Index Scan on ddm_entity_search')
})

test('a filter that leaves most over is walked along in order', async () => {
  plans.length = 0
  const variables = { ...by({ key: 'price', gte: 0 }), orderBy: { key: 'price', direction: 'DESC' } }
  const { data } = await api.run(query, { type, ...variables }, admin)
  expect(data.entities.nodes[0].attributes.price).toBe(20_000)
  expect(plans.join('\n')).toMatch(/Index Scan Backward using ix_entity_attr_price/)
})

test('the example of docs/entities.md works as it stands', async () => {
  const page = await readFile(new URL('../../docs/entities.md', import.meta.url), 'utf8')
  const [make, find] = [...page.matchAll(/```graphql\n([\s\S]*?)```/g)].map(([, text]) => text!)
  const [insert, again] = [...page.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, text]) => text!)
  const made = await api.run(make!)
  expect(made.errors).toEqual([])
  expect(made.data.setEntityType.errors).toEqual([])
  const id = made.data.setEntityType.entityType.id.replace('entitytype_', '')
  const attributes = await api.sql<{ id: string }>(
    'select id from mdm.ddm_entity_type_attribute where entity_type_id = $1',
    [id],
  )
  for (const attribute of attributes) await entities.reached(attribute.id, 'active', 60_000)
  await api.sql(insert!)
  const found = await api.run(find!)
  expect(found.errors).toEqual([])
  expect(found.data.entities).toMatchObject({ totalCount: { count: 1 }, nodes: [{ externalKey: 'C-1' }] })
  expect(await api.sql(again!)).toMatchObject([{ outcome: 'created' }])
})
