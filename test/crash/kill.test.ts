import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { createSupervisor, mixOf, type Supervisor } from './supervisor.ts'

// Several processes start in each test; a machine that is busy takes its time.
vi.setConfig({ testTimeout: 60_000 })

const deadAfterMs = 5_000
/** Out of reach: who recovers before knows it from the data directory. */
const longAfterMs = 60_000

let database: TestDatabase
let supervisor: Supervisor

beforeEach(async () => {
  database = await testDatabase()
  supervisor = await createSupervisor({
    ...database,
    settings: { STELLWERK_WORKERS: '400', STELLWERK_DEAD_AFTER_MS: String(deadAfterMs) },
  })
})

afterEach(async () => {
  await supervisor.end()
  await database.drop()
})

test(
  'kill -9 three times with a thousand jobs in flight: the next start in the same data directory recovers them at once',
  { timeout: 120_000 },
  async () => {
    const settings = { STELLWERK_WORKERS: '1000', STELLWERK_DEAD_AFTER_MS: String(longAfterMs) }
    let service = await supervisor.start({ settings })
    await supervisor.enqueue(...mixOf(10))
    for (let round = 0; round < 3; round += 1) {
      await supervisor.enqueue({ kind: 'slow', count: 1_100, payload: { ms: 5_000 } })
      await supervisor.hasten()
      await until(async () => (await supervisor.count('running')) >= 1_000, 'a thousand jobs are in flight', 20_000)
      const killedAt = performance.now()
      service.signal('SIGKILL')
      await service.exited
      expect(await supervisor.heldBy(service)).toBeGreaterThan(900)
      const dead = service
      service = await supervisor.start({ dataDir: service.dataDir, settings })
      await until(async () => (await supervisor.heldBy(dead)) === 0, 'all are recovered')
      expect(performance.now() - killedAt).toBeLessThan(longAfterMs / 2)
    }
    // Claim rows of the dead are swept after DEAD_AFTER only.
    service.signal('SIGTERM')
    await service.exited
    await supervisor.start({ settings: { STELLWERK_WORKERS: '1000', STELLWERK_DEAD_AFTER_MS: '1500' } })
    await supervisor.hasten()
    expect(await supervisor.verdict(60_000)).toEqual([])
  },
)

test('of two instances one is killed: the other recovers its jobs within DEAD_AFTER + MAINTENANCE', async () => {
  const [first, second] = await Promise.all([supervisor.start(), supervisor.start()])
  await supervisor.enqueue({ kind: 'slow', count: 600, payload: { ms: 1_500 } })
  await until(async () => (await supervisor.count('running')) >= 600, 'both are at work')
  first.signal('SIGKILL')
  const { at: killedAt } = await first.exited
  const [silent] = await database.sql<{ ms: number }>(
    `select (extract(epoch from clock_timestamp() - heartbeat_at) * 1000)::float8 as ms from mdm.aa_instance where pid = $1`,
    [first.pid],
  )
  await until(async () => (await supervisor.journaled('job_recovered')) > 0, 'the first jobs are recovered')
  const recoveredAfterMs = performance.now() - killedAt
  // From its last heartbeat, which may have come just before its death; the maintenance of the tests looks every 300 ms.
  expect(recoveredAfterMs).toBeLessThan(deadAfterMs + 1_500)
  expect(recoveredAfterMs + silent!.ms).toBeGreaterThan(deadAfterMs)
  await until(async () => (await supervisor.count('running')) === 0, 'nothing runs any more')
  await supervisor.hasten()
  expect(await supervisor.verdict()).toEqual([])
  expect(second.runs()).toBe(true)
})

test(
  'a job that kills its process does so max_attempts times, then it is in the dead-letter queue; its neighbours end done',
  { timeout: 60_000 },
  async () => {
    let service = await supervisor.start()
    await supervisor.enqueue(
      { kind: 'deadly', count: 1 },
      { kind: 'slow', count: 100, payload: { ms: 50 } },
      { kind: 'writes', count: 50 },
    )
    const died = async (): Promise<boolean> => (await supervisor.count('dlq', 'deadly')) === 1
    for (let deaths = 0; !(await died()); deaths += 1) {
      expect(deaths).toBeLessThanOrEqual(3)
      await service.exited
      service = await supervisor.start({ dataDir: service.dataDir })
      // Where its turn in the wave comes at once it has killed the next process before anybody looks.
      await until(
        async () => (await died()) || (await supervisor.count('pending', 'deadly')) === 1 || !service.runs(),
        'the job is recovered',
      )
      await supervisor.hasten()
    }
    await supervisor.hasten()
    expect(await supervisor.verdict()).toEqual([])
    expect(
      await database.sql(`select attempts, runs, max_attempts, last_error from mdm.aa_job where job_kind = 'deadly'`),
    ).toEqual([
      { attempts: 3, runs: 3, max_attempts: 3, last_error: expect.stringContaining('[stale-claim recovered]') },
    ])
    expect(service.runs()).toBe(true)
  },
)
