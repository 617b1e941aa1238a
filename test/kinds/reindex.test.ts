import { afterAll, beforeAll, expect, test } from 'vitest'
import { reindexBatch } from '../../src/sql/reindex-batch.ts'
import type { Handler } from '../../src/workers/handler.ts'
import { createReindex } from '../../src/workers/handlers/reindex.ts'
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
  workers = await startWorkers(database, {
    kinds: ['reindex'],
    // Small slices and batches: what a million rows do in minutes happens here in seconds.
    handlersOf: (pools) => ({
      reindex: createReindex({ db: pools.commit, batch: 100, sliceMs: 100, writersAgainMs: 200 }) as Handler,
    }),
  })
})
afterAll(async () => {
  await workers?.stop()
  await database?.drop()
})

const found = async (typeId: string, language: string, words: string) => {
  const [row] = await database.sql<{ n: number }>(
    `select count(*)::int as n from mdm.ddm_entity where entity_type_id = $1 and search_vector @@ websearch_to_tsquery('mdm.mdm_${language}', $2)`,
    [typeId, words],
  )
  return row!.n
}
/** How many rows do not have the vector that a fresh computation gives. */
const wrong = async (typeId: string) => {
  const [row] = await database.sql<{ n: number }>(
    `select count(*)::int as n from mdm.ddm_entity e cross join lateral mdm.search_config(e.entity_type_id) c
      where e.entity_type_id = $1
        and (e.search_version <> c.search_version or e.search_vector is distinct from mdm.entity_tsv(c.language, e.attributes, c.a, c.b, c.c, c.d))`,
    [typeId],
  )
  return row!.n
}
const settled = async (typeId: string) => {
  await entities.hurry()
  await until(
    async () => {
      await entities.hurry()
      return (await entities.jobs('reindex')).every(({ status }) => status !== 'pending' && status !== 'running')
    },
    'no reindex is open',
    30_000,
  )
  expect(await wrong(typeId)).toBe(0)
}
const last = async () => (await entities.jobs('reindex')).at(-1)!
const text = `jsonb_build_object('name', 'Müller Straße ' || n, 'note', 'Die Häuser der Fußgänger ' || n)`

test('KINDS 4.1: another language, weight or flag reaches every row of the type, and no other row', async () => {
  const type = await entities.type('street')
  const name = await entities.attribute(type, { key: 'name', searchable: true })
  const other = await entities.type('bystander')
  await entities.attribute(other, { key: 'name', searchable: true })
  await settled(type)
  await entities.fill(type, 950, text)
  await entities.fill(other, 50, text)
  const xmins = () =>
    database.sql(`select id, xmin::text from mdm.ddm_entity where entity_type_id = $1 order by id`, [other])
  const before = await xmins()

  expect(await found(type, 'simple', 'häuser')).toBe(0)
  await database.sql(`update mdm.ddm_entity_type set language = 'german' where id = $1`, [type])
  await settled(type)
  for (const words of ['muller', 'müller', 'mueller', 'strasse', 'straße', 'Straßen', '"müller straße"'])
    expect([words, await found(type, 'german', words)]).toEqual([words, 950])

  await entities.attribute(type, { key: 'note', searchable: true, weight: 'B' })
  await settled(type)
  expect(await found(type, 'german', 'haus fussgänger')).toBe(950)
  await entities.toggle(name, `search_weight = 'A'`)
  await settled(type)
  const [weights] = await database.sql<{ weights: string }>(
    `select string_agg(distinct w, '' order by w) as weights from mdm.ddm_entity e, unnest(e.search_vector) v, unnest(v.weights) w where e.entity_type_id = $1`,
    [type],
  )
  expect(weights).toEqual({ weights: 'AB' })
  await entities.toggle(name, 'searchable = false')
  await settled(type)
  expect(await found(type, 'german', 'müller')).toBe(0)
  expect(await xmins()).toEqual(before)

  const [line] = await database.sql(
    `select job_kind as kind, payload ->> 'entities' as entities from mdm.aa_audit_log where action = 'reindex_done' order by id desc limit 1`,
  )
  expect(line).toEqual({ kind: 'reindex', entities: '950' })
})

test('KINDS 4.2: whoever writes meanwhile is neither overwritten nor forgotten', async () => {
  const type = await entities.type('busy')
  const name = await entities.attribute(type, { key: 'name', searchable: true })
  await entities.fill(type, 2_000, text)
  await settled(type)
  const ids = (
    await database.sql<{ id: string }>('select id from mdm.ddm_entity where entity_type_id = $1 order by id', [type])
  ).map(({ id }) => id)
  await entities.toggle(name, `search_weight = 'A'`)
  let edits = 0
  const writer = async (offset: number): Promise<void> => {
    for (let n = offset; n < ids.length; n += 4) {
      await database.sql(
        `update mdm.ddm_entity set attributes = attributes || jsonb_build_object('name', 'edited ' || $2::text) where id = $1`,
        [ids[n], n],
      )
      edits += 1
    }
  }
  await Promise.all([writer(0), writer(2)])
  await settled(type)
  expect(edits).toBe(1_000)
  expect(await found(type, 'simple', 'edited')).toBe(1_000)
})

test('KINDS 4.2: a transaction that wrote by the former configuration is waited for', async () => {
  const type = await entities.type('late')
  const name = await entities.attribute(type, { key: 'name', searchable: true })
  await entities.fill(type, 250, text)
  await settled(type)
  const writer = await database.pool.connect()
  try {
    await writer.query('begin')
    // Sorts before all others, so that every pass has gone by.
    await writer.query(
      `insert into mdm.ddm_entity (id, tenant_id, entity_type_id, attributes)
       select '00000000-0000-7000-8000-000000000001', tenant_id, id, '{"name": "late"}' from mdm.ddm_entity_type where id = $1`,
      [type],
    )
    await entities.toggle(name, `search_weight = 'A'`)
    const waits = async () => (await last()).progress?.message ?? ''
    await until(
      async () => /^Waits for .*: sessions \d+$/.test(await waits()),
      'the job says whom it waits for',
      10_000,
    )
    await writer.query('commit')
  } finally {
    writer.release(true)
  }
  await settled(type)
  expect((await last()).attempts).toBe(1)
})

test('KINDS 4.2: a REPEATABLE READ transaction that has not written yet is waited for, since it sees the former configuration', async () => {
  const type = await entities.type('frozen')
  const name = await entities.attribute(type, { key: 'name', searchable: true })
  await entities.fill(type, 250, text)
  await settled(type)
  const writer = await database.pool.connect()
  try {
    await writer.query('begin isolation level repeatable read; select count(*) from mdm.aa_tenant')
    await entities.toggle(name, `search_weight = 'A'`)
    await until(
      async () => {
        const { status, progress } = await last()
        return status === 'done' || /^Waits for .*: sessions \d+/.test(progress?.message ?? '')
      },
      'the passes are over',
      10_000,
    )
    const { rows } = await writer.query<{ former: boolean }>(
      `insert into mdm.ddm_entity (id, tenant_id, entity_type_id, attributes)
       select '00000000-0000-7000-8000-000000000002', tenant_id, id, '{"name": "frozen"}' from mdm.ddm_entity_type where id = $1
       returning search_version < $2 as former`,
      [type, (await entities.typeState(type)).version],
    )
    await writer.query('commit')
    expect(rows).toEqual([{ former: true }])
  } finally {
    writer.release(true)
  }
  await settled(type)
  expect((await last()).attempts).toBe(1)
})

test('KINDS 4.5: of long texts a batch takes few, of which the first in any case', async () => {
  const type = await entities.type('long')
  await entities.attribute(type, { key: 'name', searchable: true })
  await settled(type)
  // Digests do not compress: 150 kB each, and one that is beyond the limit alone.
  await entities.fill(
    type,
    12,
    `jsonb_build_object('name', (select string_agg(md5(n * i || ''), ' ') from generate_series(1, case n when 1 then 30000 else 4500 end) i))`,
  )
  // Without a job of its own.
  await database.sql(
    `update mdm.ddm_entity_type set search_version = search_version + 1 where id = $1 and set_config('stellwerk.reindexing', 'on', true) = 'on'`,
    [type],
  )
  const [{ tenant, job }] = (await database.sql(
    `insert into mdm.ddm_reindex_run (job_id, entity_type_id, target_version, total) select mdm.uuid_v7(), id, search_version, 12 from mdm.ddm_entity_type where id = $1
     returning job_id as job, (select tenant_id from mdm.ddm_entity_type where id = $1) as tenant`,
    [type],
  )) as [{ tenant: string; job: string }]
  const sizes: (number | null)[] = []
  for (let ended = false; !ended && sizes.length < 20;) {
    const [batch] = await reindexBatch(database.pool, job, tenant, 1_000)
    sizes.push(batch!.taken)
    ended = batch!.ended
  }
  await database.sql('delete from mdm.ddm_reindex_run where job_id = $1', [job])
  expect(sizes).toEqual([1, 4, 4, 3])
  expect(await wrong(type)).toBe(0)
})

test('KINDS 4.4: a second run on unchanged data writes no vectors', async () => {
  const type = await entities.type('unchanged')
  await entities.attribute(type, { key: 'name', searchable: true })
  await entities.fill(type, 300, text)
  await settled(type)
  const job = await workers.enqueue({ kind: 'reindex', payload: { type_key: 'unchanged', reason: 'To be sure.' } })
  await settled(type)
  expect((await workers.job(job)).result).toMatchObject({ entities: 300, vectors: 0 })
  // The version that it took for itself needed no other job.
  expect((await entities.jobs('reindex')).filter(({ payload }) => payload.entity_type_id === type)).toHaveLength(1)
})

test('KINDS 4.6: texts of any length and sort are searched as far as they go', async () => {
  const type = await entities.type('huge')
  await entities.attribute(type, { key: 'name', searchable: true, weight: 'A' })
  await entities.attribute(type, { key: 'note', searchable: true })
  const words = (count: number, seed: number) =>
    Array.from({ length: count }, (_, n) => ((n + 1) * seed).toString(36)).join(' ')
  const values = {
    long: `needle ${words(3_000, 7_919)}`,
    emoji: `needle ${'😀'.repeat(5_000)}`,
    oneWord: `needle ${'w'.repeat(3_000)}`,
    twoMegabytes: `needle ${words(250_000, 104_729)}`,
  }
  for (const value of Object.values(values)) await entities.insert(type, { name: value, note: value })
  // All of it beyond what a tsvector holds.
  for (let n = 0; n < 30; n += 1) await entities.attribute(type, { key: `extra_${n}`, searchable: true })
  const extras = Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [
      `extra_${n}`,
      Array.from({ length: 20_000 }, (__, i) => String.fromCodePoint(0x4e00 + ((i * 31 + n * 977) % 20_000))).join('-'),
    ]),
  )
  await entities.insert(type, { name: 'needle', ...extras })
  await settled(type)
  expect(await found(type, 'simple', 'needle')).toBe(5)
})

test('KINDS 4.3: who goes on after a kill repeats nothing', async () => {
  const type = await entities.type('killed')
  const name = await entities.attribute(type, { key: 'name', searchable: true })
  await entities.fill(type, 1_000, text)
  await settled(type)
  // Dies in its third batch, holding the claim until recovery: here the claim is taken back by hand.
  const dying = await startWorkers(database, {
    kinds: ['reindex'],
    handlersOf: (pools) => ({
      reindex: (async (context) => {
        let batches = 0
        const crash = new Error('killed')
        return createReindex({ db: pools.commit, batch: 100 })({
          ...pick(context),
          transaction: (work: never) => {
            batches += 1
            if (batches > 5) throw crash
            return context.transaction(work)
          },
        } as never)
      }) as Handler,
    }),
    env: { STELLWERK_KIND_REINDEX: '{"backoff":{"baseMs":60000,"maxMs":60000}}' },
  })
  // Only the dying one works.
  await workers.stop()
  await entities.toggle(name, `search_weight = 'C'`)
  const job = await until(async () => ((await last()).error?.includes('killed') ? last() : null), 'it died', 10_000)
  await dying.stop()
  const stamped = () =>
    database.sql<{ id: string; xmin: string }>(
      `select e.id, e.xmin::text from mdm.ddm_entity e join mdm.ddm_entity_type t on t.id = e.entity_type_id where t.id = $1 and e.search_version = t.search_version order by e.id`,
      [type],
    )
  const before = await stamped()
  expect(before).toHaveLength(300)
  workers = await startWorkers(database, { kinds: ['reindex'] })
  await settled(type)
  expect((await stamped()).slice(0, 300)).toEqual(before)
  expect((await workers.job(job!.id)).result).toMatchObject({ entities: 1_000, vectors: 1_000 })
  expect(await database.sql('select from mdm.ddm_reindex_run')).toEqual([])
})

test('a newer version has a job of its own: the older one ends', async () => {
  const type = await entities.type('overtaken')
  const name = await entities.attribute(type, { key: 'name', searchable: true })
  await entities.fill(type, 100, text)
  await database.sql(
    `begin; update mdm.ddm_entity_type_attribute set search_weight = 'B' where id = '${name}'; update mdm.ddm_entity_type_attribute set search_weight = 'A' where id = '${name}'; commit`,
  )
  await settled(type)
  const results = (await entities.jobs('reindex'))
    .filter(({ payload }) => payload.entity_type_id === type)
    .map(({ result }) => result)
  expect(results.slice(-2)).toMatchObject([{ superseded: true }, { entities: 100 }])
})

test('a type that is gone, or of another tenant, is no work', async () => {
  const id = '00000000-0000-7000-8000-00000000000f'
  expect(
    (await workers.reached(await workers.enqueue({ kind: 'reindex', payload: { entity_type_id: id } }), 'done')).result,
  ).toEqual({ gone: true })
  const type = await entities.type('mine')
  const foreign = await workers.enqueue({ kind: 'reindex', payload: { entity_type_id: type }, tenant: 'platform' })
  expect((await workers.reached(foreign, 'done')).result).toEqual({ gone: true })
  const unknown = await workers.enqueue({ kind: 'reindex', payload: { type_key: 'nothing' } })
  expect((await workers.reached(unknown, 'dlq')).lastError).toContain('no entity type nothing')
})

function pick({ payload, job, signal, progress, log }: Parameters<Handler>[0]) {
  return { payload, job, signal, progress: (report: never) => progress(report), log }
}
