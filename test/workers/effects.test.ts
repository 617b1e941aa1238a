import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineEffect } from '../../src/workers/effect.ts'
import { defineKind, type OwnKind } from '../../src/workers/define-kind.ts'
import { registerTestKinds } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from './support.ts'

let database: TestDatabase
let engine: TestEngine | undefined

beforeEach(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, ['writes', 'both', 'fails', 'slow', 'plain'])
  await database.sql('update mdm.aa_job_kind set max_attempts = 1')
  await database.sql(
    'create table written (job_id uuid not null, tenant_id uuid not null, i int not null check (i >= 0))',
  )
})
afterEach(async () => {
  await engine?.stop(0)
  await database.drop()
})

const written = defineEffect<{ i: number }>({
  name: 'written',
  sql: 'insert into written select job_id, tenant_id, i from jsonb_to_recordset($1) r(job_id uuid, tenant_id uuid, i int)',
})
const payload = z.looseObject({ i: z.int() })
const kind = (name: string, run: Parameters<typeof defineKind<typeof payload>>[0]['run'], maxAttempts = 1): OwnKind =>
  defineKind({ name, payload, example: { i: 1 }, defaults: { maxAttempts }, run })

const enqueue = (name: string, from: number, to: number) =>
  database.sql(
    `select from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', $1::text, 'payload', jsonb_build_object('i', i))) from generate_series($2::int, $3::int) i))`,
    [name, from, to],
  )
const counts = async () =>
  Object.fromEntries(
    (
      await database.sql<{ status: string; jobs: number }>(
        'select job_kind || $$ $$ || status as status, count(*)::int as jobs from mdm.aa_job group by 1',
      )
    ).map(({ status, jobs }) => [status, jobs]),
  )
const settled = () =>
  until(
    async () =>
      (await database.sql(`select from mdm.aa_job where status in ('pending', 'running') limit 1`)).length === 0,
    'every job has ended',
  )

test('rows of effects commit with the ends of their jobs, many of them in one transaction', async () => {
  await enqueue('writes', 1, 500)
  engine = await startEngine(database, [
    kind('writes', async ({ payload: { i } }) => ({ result: { i }, effects: [written({ i })] })),
  ])
  await settled()
  expect(await counts()).toEqual({ 'writes done': 500 })
  const [found] = await database.sql(
    `select count(*)::int as rows, count(distinct w.job_id)::int as jobs, sum(w.i)::int as sum,
            count(*) filter (where j.xmin = w.xmin)::int as together, count(distinct w.xmin::text) < 100 as grouped,
            count(*) filter (where w.tenant_id = j.tenant_id and (j.result ->> 'i')::int = w.i)::int as own
       from written w join mdm.aa_job j on j.id = w.job_id`,
  )
  expect(found).toEqual({ rows: 500, jobs: 500, sum: 125_250, together: 500, grouped: true, own: 500 })
  // Nothing waits for the sweep: the rows of the claims go with the last end.
  await until(async () => (await database.sql('select from mdm.aa_claim')).length === 0, 'no claim is left', 2_000)
})

test('a row that the database refuses is the failure of its own job, and its neighbours are unharmed', async () => {
  await enqueue('writes', -3, 96)
  engine = await startEngine(database, [kind('writes', async ({ payload: { i } }) => ({ effects: [written({ i })] }))])
  await settled()
  expect(await counts()).toEqual({ 'writes done': 97, 'writes dlq': 3 })
  expect(await database.sql('select count(*)::int as rows, min(i) from written')).toEqual([{ rows: 97, min: 0 }])
  expect(
    await database.sql(`select from mdm.aa_job where status = 'dlq' and last_error like '%violates check constraint%'`),
  ).toHaveLength(3)
})

test('a row that is no JSON is a failure like any other', async () => {
  await enqueue('writes', 1, 1)
  engine = await startEngine(database, [
    kind('writes', async () => ({ effects: [written({ i: 1n as unknown as number })] })),
  ])
  await settled()
  expect(await counts()).toEqual({ 'writes dlq': 1 })
})

test('effects and commit(tx) are one transaction', async () => {
  await enqueue('both', 1, 1)
  await enqueue('fails', 2, 2)
  const run =
    (end: string) =>
    async ({ payload: { i } }: { payload: { i: number } }) => ({
      effects: [written({ i })],
      commit: async (tx: { query(text: string): Promise<unknown> }) => {
        await tx.query(end)
      },
    })
  engine = await startEngine(database, [kind('both', run('select 1')), kind('fails', run('select 1 / 0'))])
  await settled()
  expect(await counts()).toEqual({ 'both done': 1, 'fails dlq': 1 })
  expect(await database.sql('select i from written')).toEqual([{ i: 1 }])
})

test('F02: a run that has lost its claim writes no effect, others of its group do', async () => {
  const gate = Promise.withResolvers<void>()
  let started = 0
  await enqueue('slow', 1, 2)
  engine = await startEngine(database, [
    kind('slow', async ({ payload: { i } }) => {
      started += 1
      if (started <= 2) await gate.promise
      return { effects: [written({ i: started <= 2 ? i : i + 10 })] }
    }),
  ])
  await until(() => started === 2, 'both are under way')
  await database.sql(`update mdm.aa_job set status = 'pending', claimed_by = null where payload ->> 'i' = '1'`)
  await database.sql(`select pg_notify('mdm_wakeup', '')`)
  await until(() => started === 3, 'one runs again')
  gate.resolve()
  await settled()
  expect(await counts()).toEqual({ 'slow done': 2 })
  await until(async () => (await database.sql('select from written')).length === 2, 'two rows')
  expect(await database.sql('select count(distinct job_id)::int as jobs from written')).toEqual([{ jobs: 2 }])
})

test('a waiting effect holds up no other kind', async () => {
  const holder = await database.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('lock table written in access exclusive mode')
    await enqueue('writes', 1, 1)
    engine = await startEngine(database, [
      kind('writes', async ({ payload: { i } }) => ({ effects: [written({ i })] })),
      kind('plain', async () => undefined),
    ])
    await enqueue('plain', 1, 20)
    await until(async () => (await counts())['plain done'] === 20, 'the plain ones are done')
    expect((await counts())['writes running']).toBe(1)
    await holder.query('rollback')
  } finally {
    holder.release()
  }
  await settled()
  expect(await counts()).toEqual({ 'plain done': 20, 'writes done': 1 })
})

test('an effect without a name or without its rows is refused where it is declared', () => {
  expect(() => defineEffect({ name: 'No Name', sql: 'select 1' })).toThrow(
    /its name must be .* its sql must read the rows from \$1/,
  )
})
