import type { QueryConfig, QueryResult } from 'pg'
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

/** A claim: which kinds it asked for, and how many rows it was answered with; null: not yet. */
interface Asked {
  readonly kinds: readonly string[]
  rows: number | null
}

function watchClaims({ pools }: TestEngine): Asked[] {
  const claims: Asked[] = []
  const query = pools.claim.query.bind(pools.claim) as (config: QueryConfig) => Promise<QueryResult>
  pools.claim.query = (async (config: QueryConfig) => {
    const asked: Asked = { kinds: config.values?.[3] as string[], rows: null }
    if (config.name?.startsWith('claim_')) claims.push(asked)
    const result = await query(config)
    asked.rows = result.rows.length
    return result
  }) as typeof pools.claim.query
  return claims
}

/** Answers the kinds that are asked for from now on. No poll has anybody look, and nobody tries again who was held up: all have seen that nothing is due. */
async function started(
  kinds: readonly OwnKind[],
  pools: readonly PoolSpec[],
): Promise<{ kinds(): string[]; times(name: string): number }> {
  engine = await startEngine(database, kinds, { pools, pollMs: 60_000 })
  const claims = watchClaims(engine)
  engine.wakeup.signal('work')
  const served = pools.flatMap((each) => each.kinds ?? kinds.map(({ name }) => name))
  await until(
    () => served.every((name) => claims.findLast((claim) => claim.kinds.includes(name))?.rows === 0),
    'all have looked',
  )
  claims.length = 0
  return {
    kinds: () => [...new Set(claims.flatMap((claim) => claim.kinds))].toSorted(),
    times: (name) => claims.filter((claim) => claim.kinds.includes(name)).length,
  }
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
  const asked = await started([kind('letter'), kind('report')], pools)
  await registerTestKinds(database.pool, ['elsewhere'])
  await enqueue('elsewhere')
  await runs('letter')
  expect(asked.kinds()).toEqual(['letter'])
  await runs('report')
  expect(asked.kinds()).toEqual(['letter', 'report'])
})

test('what a handler enqueues in its transaction is told with its kind', async () => {
  const parent = defineKind({
    name: 'parent',
    payload: z.looseObject({}),
    run: async () => ({ commit: async (tx) => void (await tx.enqueue({ kind: 'child', payload: {} })) }),
  })
  const pools = [pool('parents', ['parent']), pool('children', ['child']), pool('reports', ['report'])]
  const asked = await started([parent, kind('child'), kind('report')], pools)
  await runs('parent')
  await until(
    async () => (await database.sql(`select from mdm.aa_job where job_kind = 'child' and status = 'done'`)).length > 0,
    'the child is done',
  )
  expect(asked.kinds()).toEqual(['child', 'parent'])
})

test('kinds with a cap per instance are not looked at for the others', async () => {
  const heavy: OwnKind = { ...kind('heavy'), perInstance: 1 }
  const asked = await started([kind('light'), heavy], [pool('all', null)])
  const startedAt = performance.now()
  for (let nth = 0; nth < 10; nth += 1) await runs('light')
  // Beside what else is claimed they are looked at each second, in case a wake-up was lost.
  expect(asked.times('heavy')).toBeLessThanOrEqual((performance.now() - startedAt) / 1_000 + 1)
  await runs('heavy')
  expect(asked.kinds()).toEqual(['heavy', 'light'])
})

test.each([
  // As after an enqueue by SQL.
  ['none', () => database.sql(`select pg_notify('mdm_wakeup', '')`)],
  ['several', async () => engine!.wakeup.signal('work', new Set(['report', 'letter', 'elsewhere']))],
])('where %s are told all of them look', async (_, tell) => {
  const pools = [pool('letters', ['letter']), pool('reports', ['report'])]
  const asked = await started([kind('letter'), kind('report')], pools)
  await tell()
  await until(() => asked.kinds().length === 2, 'both look')
  expect(asked.kinds()).toEqual(['letter', 'report'])
})
