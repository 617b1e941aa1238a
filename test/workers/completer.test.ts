import { afterEach, beforeEach, expect, test } from 'vitest'
import { createEvents, type Event } from '../../src/jobs/event.ts'
import { createCompleter, finishOf, type End } from '../../src/workers/completer.ts'
import { createPulses } from '../../src/workers/pulses.ts'
import { runsOf, type Run } from '../../src/workers/run.ts'
import { claimOf, drawLease, registerTestKinds, testTenant, testWorker, type TestWorker } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
  await registerTestKinds(database.pool, ['echo'])
})
afterEach(() => database.drop())

const finish = (run: Run): End => finishOf(run, 1, null, null)
const fail = (run: Run): End => ({
  run,
  move: 'fail',
  durationMs: 1,
  decision: {
    move: 'fail',
    permanent: true,
    delayMs: 0,
    failure: { error: 'x', name: 'Error', detail: null, fingerprint: 'f' },
  },
  logText: null,
})
const release = (run: Run): End => ({
  run,
  move: 'release',
  durationMs: 0,
  delayMs: 0,
  cause: 'surplus',
  unstarted: true,
})

function completerOf(worker: TestWorker) {
  const told: Event[] = []
  const events = createEvents((error) => {
    throw error
  })
  events.on((event) => told.push(event))
  const pulse = createPulses(Infinity).of('completer')
  const completer = createCompleter({ pool: database.pool, events, pulse, worker, afterCommit: () => {} })
  return { completer, told }
}

// Both came to their end in the same moment, in one process.
test.each([
  ['finish', finish, 'success'],
  ['fail', fail, 'dlq'],
  ['release', release, 'released'],
] as const)(
  'F02: of two runs of one job that end together (%s) the one without the claim is told as lost',
  async (_, ending, outcome) => {
    const tenantId = await testTenant(database)
    await database.sql(`insert into mdm.aa_job (tenant_id, job_kind) select $1, 'echo' from generate_series(1, 3)`, [
      tenantId,
    ])
    const worker = await testWorker(database.pool)
    const { rows, lease } = await claimOf(database.pool, worker, tenantId, ['echo'], 3)
    const runs = runsOf(rows, lease)
    const [stranger] = runsOf([rows[1]!], drawLease())
    const { completer, told } = completerOf(worker)
    for (const run of [runs[0]!, stranger!, runs[1]!, runs[2]!]) completer.settle(ending(run))
    await completer.idle()
    const ends = told.flatMap((event) => (event.type === 'jobs:ended' ? event.ends : []))
    expect(ends.map(({ run }) => run.id).toSorted()).toEqual(runs.map(({ id }) => id).toSorted())
    expect(new Set(ends.map((end) => end.outcome))).toEqual(new Set([outcome]))
    const gaveBack = outcome === 'released' ? { cause: 'surplus', unstarted: true } : null
    expect(ends.map((end) => end.release)).toEqual(ends.map(() => gaveBack))
    expect(told.filter(({ type }) => type === 'lease:lost')).toMatchObject([{ jobIds: [stranger!.id] }])
    expect(await database.sql('select from mdm.aa_claim')).toEqual([])
  },
)

test('R10: a finish that the database refuses is told as the failure that it became', async () => {
  const tenantId = await testTenant(database)
  await database.sql(`insert into mdm.aa_job (tenant_id, job_kind) values ($1, 'echo')`, [tenantId])
  const worker = await testWorker(database.pool)
  const { rows, lease } = await claimOf(database.pool, worker, tenantId, ['echo'], 1)
  const { completer, told } = completerOf(worker)
  completer.settle(finishOf(runsOf(rows, lease)[0]!, 1, 'no JSON', null))
  await completer.idle()
  expect(told.flatMap((event) => (event.type === 'jobs:ended' ? event.ends : []))).toMatchObject([
    { outcome: 'retry', run: { id: rows[0]![0] } },
  ])
})
