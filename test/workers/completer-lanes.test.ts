import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createEvents } from '../../src/jobs/event.ts'
import { createCompleterLanes } from '../../src/workers/completer-lanes.ts'
import { createCompleter, finishOf } from '../../src/workers/completer.ts'
import { createFollowedLane } from '../../src/workers/followed-lane.ts'
import { createPulses } from '../../src/workers/pulses.ts'
import { runsOf } from '../../src/workers/run.ts'
import { claimOf, registerTestKinds, testTenant, testWorker } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, ['echo'])
})
afterEach(() => database.drop())

test('who waits for fewer open ends waits for all lanes together', async () => {
  const tenantId = await testTenant(database)
  await database.sql(`insert into mdm.aa_job (tenant_id, job_kind) select $1, 'echo' from generate_series(1, 6)`, [
    tenantId,
  ])
  const worker = await testWorker(database.pool)
  const { rows, lease } = await claimOf(database.pool, worker, tenantId, ['echo'], 6)
  const events = createEvents((error) => {
    throw error
  })
  const lane = () =>
    createCompleter({
      pool: database.pool,
      events,
      pulse: createPulses(Infinity).of('completer'),
      worker,
      afterCommit: () => {},
    })
  const plain = lane()
  const followed = createFollowedLane({ pool: database.pool, kinds: new Map(), plain, events })
  const lanes = createCompleterLanes({ plain, withEffects: lane(), followed })

  const other = await database.pool.connect()
  try {
    await other.query('begin')
    await other.query('select from mdm.aa_job for update')
    runsOf(rows, lease).forEach((run, i) => {
      const effects = i % 2 === 0 ? { rows: [], refused: () => undefined } : null
      lanes.settle(finishOf(run, 1, null, effects))
    })
    expect(lanes.pending()).toBe(6)
    // Neither lane has more than three; together they have.
    let isBelow = false
    const below = lanes.below(3).then(() => (isBelow = true))
    await nextTurn()
    expect(isBelow).toBe(false)
    await other.query('rollback')
    await below
    expect(lanes.pending()).toBeLessThanOrEqual(3)
    await lanes.idle()
    expect(lanes.pending()).toBe(0)
  } finally {
    other.release()
  }
  expect(await database.sql(`select from mdm.aa_job where status = 'done'`)).toHaveLength(6)
})
