import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind } from '../../src/workers/define-kind.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startEngine } from './support.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
  await database.sql(`insert into mdm.aa_tenant (tenant_key, name) values ('first', 'First'), ('second', 'Second')`)
})
afterEach(() => database.drop())

const enqueue = (tenant: string, count: number, priority: number): Promise<unknown> =>
  database.sql(
    `select count(*) from mdm.enqueue_jobs((
       select jsonb_agg(jsonb_build_object('kind', 'long', 'payload', jsonb_build_object('of', $1::text), 'tenant', $1::text, 'priority', $3::int))
         from generate_series(1, $2::int))) e`,
    [tenant, count, priority],
  )

test.each([
  ['fair', 'second'],
  ['priority', 'first'],
] as const)(
  'a tenant holds all slots with long jobs: with dispatch %s the next free one goes to the %s',
  async (dispatch, next) => {
    const running: { of: string; end: () => void }[] = []
    const long = defineKind({
      name: 'long',
      payload: z.object({ of: z.string() }),
      example: { of: 'first' },
      run: ({ payload }) => new Promise<void>((resolve) => running.push({ of: payload.of, end: resolve })),
    })
    const engine = await startEngine(database, [long], {
      pools: [{ name: 'default', slots: 4, kinds: null, tenantIds: null, dispatch }],
    })
    try {
      await enqueue('first', 20, 10)
      await until(() => running.length === 4, 'the first has all slots')
      await enqueue('second', 20, 100)
      running[0]!.end()
      await until(() => running.length === 5, 'the next has started')
      expect(running[4]!.of).toBe(next)
    } finally {
      for (const { end } of running) end()
      await engine.stop(0)
    }
  },
)
