import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { readiness } from '../start/ask.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

vi.setConfig({ testTimeout: 90_000 })

let database: TestDatabase
let supervisor: Supervisor
let service: Service

beforeEach(async () => {
  database = await testDatabase()
  supervisor = await createSupervisor(database)
  service = await supervisor.start()
})
afterEach(async () => {
  await supervisor.end()
  await database.drop()
})

/** Holds a lock while `during` runs. */
async function holding(lock: string, during: () => Promise<void>): Promise<void> {
  const session = await database.pool.connect()
  try {
    await session.query(`begin; ${lock}`)
    await during()
    await session.query('rollback')
  } finally {
    session.release()
  }
}

const isReady = () => until(async () => (await readiness(service)).status === 200, 'it is ready', 20_000)

/** Not ready, and says so of all these loops. */
const isStuck = async (...loops: RegExp[]): Promise<void> => {
  const reasons = await until(
    async () => {
      const answer = await readiness(service)
      return (
        answer.status === 503 && loops.every((loop) => answer.reasons.some((reason) => loop.test(reason))) && answer
      )
    },
    `it is not ready for ${loops.join()}`,
    40_000,
  )
  expect(reasons.reasons.every((reason) => / has not got on for \d+ s/.test(reason))).toBe(true)
}

const overdue = async (loop: string): Promise<number> => {
  const text = await (await fetch(`${await service.url()}/metrics`)).text()
  return Number(new RegExp(`^mdm_loop_overdue_seconds\\{loop="${loop}"\\} (.+)$`, 'm').exec(text)?.[1])
}

test('O06: what holds up the claims of a living process is seen in /ready, and so is its end', async () => {
  await isReady()
  await supervisor.enqueue({ kind: 'slow', count: 1, payload: { ms: 500 } })
  await until(() => supervisor.count('running', 'slow'), 'one runs')
  await holding('lock table mdm.aa_claim in access exclusive mode', async () => {
    await supervisor.enqueue({ kind: 'quick', count: 3 })
    await isStuck(/claim loop of the pool default/, /completer of the pool default/, /maintenance/)
    expect(await overdue('claim loop of the pool default')).toBeGreaterThan(1)
  })
  await isReady()
  expect(await overdue('claim loop of the pool default')).toBeLessThan(1)
  expect(await supervisor.verdict()).toEqual([])
})

test.each([
  ['promoter of waiting jobs', 'update', `old.deferred and not new.deferred and new.job_kind = 'quick'`],
  ['scheduler', 'insert', `new.job_kind = 'cleanup_jobs'`],
])(
  'O06: one stuck loop of a living process is seen in /ready while the others go on: the %s',
  async (loop, on, when) => {
    await isReady()
    await database.sql(
      `create function mdm.test_wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(42); return new; end $$`,
    )
    await database.sql(
      `create trigger test_wait before ${on} on mdm.aa_job for each row when (${when}) execute function mdm.test_wait()`,
    )
    const ticking = { settings: { STELLWERK_CLEANUP_TICK_MS: '1000' }, dataDir: service.dataDir }
    await service.stop()
    service = await supervisor.start(ticking)
    await holding('select pg_advisory_xact_lock(42)', async () => {
      await database.sql(`select mdm.enqueue_job('quick', '{}', available_at => now() + interval '100 milliseconds')`)
      await isStuck(new RegExp(loop))
      expect((await readiness(service)).reasons).toHaveLength(1)
      await database.sql(`select mdm.enqueue_job('writes', '{}')`)
      await until(() => supervisor.count('done', 'writes'), 'other work is done')
    })
    await isReady()
    await until(() => supervisor.count('done', 'quick'), 'the waiting job is done')
  },
)
