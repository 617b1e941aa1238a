import { afterEach, beforeEach, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

let database: TestDatabase
let supervisor: Supervisor

beforeEach(async () => {
  database = await testDatabase()
  supervisor = await createSupervisor({ ...database, settings: { STELLWERK_WORKERS: '60' } })
})

afterEach(async () => {
  await supervisor.end()
  await database.drop()
})

/** Its row goes a moment after its jobs are recovered; woken before, it beats once more and has nothing to learn. */
const givenUp = (): Promise<unknown> =>
  until(async () => (await database.sql('select from mdm.aa_instance')).length === 1, 'it is given up')

test(
  'F02, F05: an instance that was frozen for longer than DEAD_AFTER changes nothing when it wakes up, registers anew and goes on',
  { timeout: 60_000 },
  async () => {
    const frozen = await supervisor.start()
    await supervisor.enqueue(
      { kind: 'slow', count: 30, payload: { ms: 1_000 } },
      { kind: 'writes', count: 30, payload: { ms: 1_000 } },
    )
    await until(async () => (await supervisor.count('running')) === 60, 'it has them in hand')
    frozen.signal('SIGSTOP')
    const other = await supervisor.start()
    await until(async () => (await supervisor.journaled('job_recovered')) >= 60, 'another recovers them')
    await supervisor.hasten()
    // Not by how many run: the first may have ended before the last begin.
    const begunAnew = `select count(*)::int as jobs from mdm.aa_job where runs > 1`
    await until(async () => (await database.sql(begunAnew))[0]!['jobs'] === 60, 'they run elsewhere')
    await givenUp()
    frozen.signal('SIGCONT')
    await until(
      () => frozen.said('instance lost: it was taken for dead and has registered anew') > 0,
      'it learns of its death',
    )
    expect(await supervisor.verdict()).toEqual([])
    expect(await supervisor.journaled('job_done')).toBeGreaterThanOrEqual(60)

    other.signal('SIGTERM')
    await other.exited
    await supervisor.enqueue({ kind: 'quick', count: 100 })
    expect(await supervisor.verdict()).toEqual([])
    expect(frozen.runs()).toBe(true)
  },
)

test(
  'an instance that wakes up gives back what it claims before it learns of its death',
  { timeout: 60_000 },
  async () => {
    // Its heartbeat comes late enough for claims in between.
    const frozen = await supervisor.start({
      settings: { STELLWERK_HEARTBEAT_MS: '2000', STELLWERK_DEAD_AFTER_MS: '4500' },
    })
    frozen.signal('SIGSTOP')
    const other = await supervisor.start({
      command: 'worker',
      settings: { STELLWERK_POOLS: JSON.stringify([{ name: 'other', slots: 1, kinds: ['quick'] }]) },
    })
    await givenUp()
    other.signal('SIGKILL')
    await other.exited
    await supervisor.enqueue({ kind: 'slow', count: 60, payload: { ms: 3_000 } })
    frozen.signal('SIGCONT')
    await until(
      () => frozen.said('instance lost: it was taken for dead and has registered anew') > 0,
      'it learns of its death',
    )
    await supervisor.hasten()
    expect(await supervisor.verdict()).toEqual([])
  },
)

test(
  'F12: an instance that freezes in the middle of a transaction does not keep its locks',
  { timeout: 60_000 },
  async () => {
    const frozen = await supervisor.start()
    await supervisor.enqueue({ kind: 'writes', count: 20, payload: { ms: 0, holdMs: 1_000 } })
    const held = `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction' and query like 'insert into written%'`
    await until(async () => (await database.sql(held)).length > 0, 'transactions are open')
    frozen.signal('SIGSTOP')
    const other = await supervisor.start()
    await until(async () => (await supervisor.heldBy(frozen)) === 0, 'its jobs are recovered')
    await supervisor.hasten()
    expect(await supervisor.verdict()).toEqual([])
    await givenUp()
    frozen.signal('SIGCONT')
    await until(
      () => frozen.said('instance lost: it was taken for dead and has registered anew') > 0,
      'it learns of its death',
    )
    expect(await supervisor.verdict()).toEqual([])
    expect([frozen.runs(), other.runs()]).toEqual([true, true])
  },
)

test('O02: a handler that keeps the event loop busy does not look like death', { timeout: 60_000 }, async () => {
  await supervisor.start()
  await supervisor.start()
  await supervisor.enqueue(
    { kind: 'slow', count: 100, payload: { ms: 4_000 } },
    { kind: 'busy', count: 1, payload: { ms: 4_000 } },
  )
  expect(await supervisor.verdict()).toEqual([])
  expect(await supervisor.journaled('job_recovered')).toBe(0)
})
