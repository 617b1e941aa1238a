import type { QueryConfig } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, type OwnKind } from '../../src/workers/define-kind.ts'
import type { PoolSpec } from '../../src/workers/dispatcher.ts'
import { registerTestKinds } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from './support.ts'

// Whom a wake-up does not concern makes no statement: a job that comes by itself costs each instance what it has to do with it.

let database: TestDatabase
let engine: TestEngine | undefined
beforeEach(async () => {
  database = await testDatabase()
})
afterEach(async () => {
  await engine?.stop(0)
  engine = undefined
  await database.drop()
})

const kind = (name: string): OwnKind => defineKind({ name, payload: z.looseObject({}), run: async () => {} })
const pool = (name: string, kinds: readonly string[] | null): PoolSpec => ({
  name,
  slots: 4,
  kinds,
  tenantIds: null,
  dispatch: 'fair',
})

/** The kinds that each claim asked for, from now on. */
function watchClaims({ pools }: TestEngine): string[][] {
  const asked: string[][] = []
  const query = pools.claim.query.bind(pools.claim) as (config: QueryConfig) => Promise<never>
  pools.claim.query = ((config: QueryConfig) => {
    if (config.name?.startsWith('claim_')) asked.push(config.values![3] as string[])
    return query(config)
  }) as typeof pools.claim.query
  return asked
}

/** No poll brings it. */
async function started(kinds: readonly OwnKind[], pools: readonly PoolSpec[]): Promise<TestEngine> {
  engine = await startEngine(database, kinds, { pools, pollMs: 60_000 })
  await until(() => engine!.claims.length >= pools.length, 'all have looked')
  return engine
}

/** As another instance enqueues. */
async function enqueue(...names: readonly string[]): Promise<string[]> {
  const rows = await database.sql<{ id: string }>(
    `select e.job_id as id from unnest($1::text[]) kind, mdm.enqueue_job(kind, '{}', notify => false) e`,
    [names],
  )
  engine!.wakeup.signal('work', new Set(names))
  return rows.map(({ id }) => id)
}

async function runs(name: string): Promise<void> {
  const ids = await enqueue(name)
  await until(
    async () =>
      (await database.sql(`select from mdm.aa_job where id = any ($1) and status = 'done'`, [ids])).length > 0,
    `the job of ${name} is done`,
  )
}

test('a due job has only those pools claim that serve its kind', async () => {
  const pools = [pool('letters', ['letter']), pool('reports', ['report'])]
  const asked = watchClaims(await started([kind('letter'), kind('report')], pools))
  await registerTestKinds(database.pool, ['elsewhere'])
  await enqueue('elsewhere')
  await runs('letter')
  expect(new Set(asked.flat())).toEqual(new Set(['letter']))
  await runs('report')
  expect(new Set(asked.flat())).toEqual(new Set(['letter', 'report']))
})

test('kinds with a cap per instance are not looked at for the others', async () => {
  const heavy: OwnKind = { ...kind('heavy'), perInstance: 1 }
  const asked = watchClaims(await started([kind('light'), heavy], [pool('all', null)]))
  for (let nth = 0; nth < 5; nth += 1) await runs('light')
  expect(new Set(asked.flat())).toEqual(new Set(['light']))
  await runs('heavy')
  expect(asked.flat()).toContain('heavy')
})

test('where several kinds are told, or none, all of them look', async () => {
  const pools = [pool('letters', ['letter']), pool('reports', ['report'])]
  const asked = watchClaims(await started([kind('letter'), kind('report')], pools))
  const both = ['letter', 'report']
  const looked = () => until(() => asked.length >= 2 && [...new Set(asked.splice(0).flat())].toSorted(), 'they look')
  // As after an enqueue by SQL.
  await database.sql(`select pg_notify('mdm_wakeup', '')`)
  expect(await looked()).toEqual(both)
  engine!.wakeup.signal('work', new Set(['report', 'letter', 'elsewhere']))
  expect(await looked()).toEqual(both)
})
