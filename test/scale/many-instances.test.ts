import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createSupervisor, mixOf, type Supervisor } from '../crash/supervisor.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

// Several processes start in each test; a machine that is busy takes its time.
vi.setConfig({ testTimeout: 60_000 })

let database: TestDatabase
let supervisor: Supervisor

beforeEach(async () => {
  database = await testDatabase()
  supervisor = await createSupervisor({ ...database, settings: { STELLWERK_WORKERS: '20' } })
})

afterEach(async () => {
  await supervisor.end()
  await database.drop()
})

/** How many jobs each process has ended. */
const endsByInstance = (): Promise<{ worker: string; ends: number }[]> =>
  database.sql(`select split_part(w.name, '/', 2) as worker, count(*)::int as ends
    from mdm.aa_audit_log a join mdm.aa_worker w on w.id = a.worker where a.action = 'job_done' and a.job_kind <> 'cleanup_jobs' group by 1`)

describe.each([2, 4])('%i instances on one database', (instances) => {
  test('do everything exactly once, each its part', { timeout: 60_000 }, async () => {
    // Nobody dies here, and on a busy machine nobody is to be taken for dead either.
    const settings = { STELLWERK_DEAD_AFTER_MS: '30000' }
    await Promise.all(Array.from({ length: instances }, () => supervisor.start({ settings })))
    await supervisor.enqueue(...mixOf(10), { kind: 'slow', count: 1_200, payload: { ms: 30 } })
    expect(await supervisor.verdict(30_000)).toEqual([])
    expect(await supervisor.journaled('job_recovered')).toBe(0)
    const ends = await endsByInstance()
    expect(ends.length).toBe(instances)
    for (const { ends: part } of ends) expect(part).toBeGreaterThan(1_400 / instances / 4)
  })
})

test(
  'T03: a schedule brings exactly one job a tick, over three instances that are killed and started',
  { timeout: 60_000 },
  async () => {
    const settings = { STELLWERK_KINDS: fileURLToPath(new URL('./ticking-kinds.ts', import.meta.url)) }
    const services = await Promise.all([1, 2, 3].map(() => supervisor.start({ settings })))
    for (const [index, service] of services.entries()) {
      const ticks = await supervisor.journaled('job_done')
      await until(async () => (await supervisor.journaled('job_done')) > ticks + 1, 'it ticks')
      service.signal(index === 1 ? 'SIGTERM' : 'SIGKILL')
      await service.exited
      await supervisor.start({ settings, dataDir: service.dataDir })
    }
    const rows = await database.sql<{ tick: string; late: number }>(
      `select substr(idempotency_key, 6) as tick, date_part('epoch', created_at - substr(idempotency_key, 6)::timestamptz) as late
       from mdm.aa_job where job_kind = 'ticks' order by 1`,
    )
    const seconds = rows.map(({ tick }) => Date.parse(tick) / 1_000)
    expect(seconds.length).toBeGreaterThan(5)
    // One after the other, none doubled, none left out: somebody was always there.
    expect(seconds).toEqual(seconds.map((_, index) => seconds[0]! + index))
    expect(Math.min(...rows.map(({ late }) => late))).toBeGreaterThanOrEqual(0)
  },
)

describe('wake-up', () => {
  const noPoll = { STELLWERK_POLL_MS: '30000' }
  const wellBeforeThePollMs = 3_000

  /** From the enqueue to the start, by the database's clock. */
  async function waitMs(kind: string): Promise<number> {
    await until(() => supervisor.count('done', kind), `a job of kind ${kind} is done`)
    const [row] = await database.sql(
      `select max(date_part('epoch', claimed_at - available_at) * 1000)::int as ms from mdm.aa_job where job_kind = $1`,
      [kind],
    )
    return row!.ms as number
  }

  test('a job that plain SQL enqueues starts well before the poll', async () => {
    await supervisor.start({ settings: noPoll })
    await database.sql(`select * from mdm.enqueue_job('quick', '{}')`)
    expect(await waitMs('quick')).toBeLessThan(wellBeforeThePollMs)
  })

  test('so does a job whose time comes, and one whose retry is due', async () => {
    await supervisor.start({ settings: noPoll })
    await database.sql(
      `select * from mdm.enqueue_job('quick', '{}', available_at => now() + interval '700 milliseconds')`,
    )
    await database.sql(`select * from mdm.enqueue_job('fails_once', '{}')`)
    expect(await waitMs('quick')).toBeLessThan(wellBeforeThePollMs)
    expect(await waitMs('fails_once')).toBeLessThan(wellBeforeThePollMs)
  })

  test('a retry of one instance is done by another that is free', async () => {
    const pool = (kinds: string[]) => ({
      ...noPoll,
      STELLWERK_POOLS: JSON.stringify([{ name: 'only', slots: 2, kinds }]),
    })
    const first = await supervisor.start({ settings: pool(['snoozes']) })
    await supervisor.enqueue({ kind: 'snoozes', count: 1 })
    await until(async () => (await supervisor.journaled('job_released')) > 0, 'it was released')
    first.signal('SIGTERM')
    await first.exited
    await supervisor.start({ settings: pool(['snoozes']) })
    await until(() => supervisor.count('done', 'snoozes'), 'it is done')
    expect(await supervisor.verdict()).toEqual([])
  })

  test('without NOTIFY the poll finds it', async () => {
    await supervisor.start({ settings: { STELLWERK_POLL_MS: '1000' } })
    await database.sql(`select * from mdm.enqueue_job('quick', '{}', notify => false)`)
    expect(await waitMs('quick')).toBeLessThan(wellBeforeThePollMs)
  })
})
