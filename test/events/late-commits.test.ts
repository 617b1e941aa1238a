import pg from 'pg'
import { expect, test } from 'vitest'
import { enqueueChore } from './job-moves.ts'
import { relayFixture } from './relay-fixture.ts'
import { namesUntil } from './stream-reading.ts'
import { until } from '../support/until.ts'

const { database, newRelay } = relayFixture()

async function session(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database().url, options: '-c TimeZone=UTC' })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** STELLWERK_LATE_COMMIT_SECONDS=20 is what the promise was tried with. */
const lateSeconds = Number(process.env.STELLWERK_LATE_COMMIT_SECONDS ?? 1.5)

test('a smaller id that commits after a bigger one was told is told, however long it takes', async () => {
  const { relay, wake, ofJobs } = newRelay()
  const stream = ofJobs({ after: await relay.streamCursor() })
  const late = await session()
  await late.query('begin')
  const lateJob = await enqueueChore(late)
  const earlyJob = await enqueueChore(database().pool)
  wake()
  expect(await namesUntil(stream, (name) => name.startsWith(earlyJob))).toEqual([`${earlyJob}:1:ENQUEUED`])
  await until(() => relay.openGaps() === 1, 'the gap is known')
  // Many looks, and looks at the locks, pass while it is open.
  const after = await relay.streamCursor()
  await late.query('select pg_sleep($1)', [lateSeconds])
  expect(relay.openGaps()).toBe(1)
  await late.query('commit')
  await late.end()
  expect(await namesUntil(stream, (name) => name.startsWith(lateJob))).toEqual([`${lateJob}:1:ENQUEUED`])
  await until(() => relay.openGaps() === 0, 'the gap is closed')
  await stream.return()

  // A cursor from between knows of the gap.
  const resumed = ofJobs({ after })
  expect(await namesUntil(resumed, (name) => name.startsWith(lateJob))).toEqual([`${lateJob}:1:ENQUEUED`])
  await resumed.return()
}, 90_000)

test('a transaction with a bigger number than the snapshot knows of may still fill a gap', async () => {
  const { relay, wake, ofJobs } = newRelay()
  const stream = ofJobs({ after: await relay.streamCursor() })
  const [first, between, filler] = [await session(), await session(), await session()]
  // In this order they get their numbers: the snapshot's xmax is one beyond the first, which ends first.
  for (const client of [first, between, filler]) await client.query('begin; select pg_current_xact_id()')
  const lateJob = await enqueueChore(filler)
  const earlyJob = await enqueueChore(first)
  await first.query('commit')
  wake()
  expect(await namesUntil(stream, (name) => name.startsWith(earlyJob))).toEqual([`${earlyJob}:1:ENQUEUED`])
  // Now no snapshot has anything left that is older than what the first look noted.
  await between.query('commit')
  await filler.query('select pg_sleep(1)')
  expect(relay.openGaps()).toBe(1)
  await filler.query('commit')
  expect(await namesUntil(stream, (name) => name.startsWith(lateJob))).toEqual([`${lateJob}:1:ENQUEUED`])
  await stream.return()
  await Promise.all([first, between, filler].map((client) => client.end()))
})

test('an unrelated transaction that has written holds nothing back: gaps of rollbacks close', async () => {
  const { relay, wake, ofJobs } = newRelay()
  const unrelated = await session()
  await unrelated.query(`begin; insert into mdm.aa_tenant (tenant_key, name) values ('unrelated', 'U')`)
  const stream = ofJobs({ after: await relay.streamCursor() })
  const writer = await session()
  for (let i = 0; i < 5; i += 1) {
    await writer.query('begin')
    await enqueueChore(writer)
    await writer.query('rollback')
    await enqueueChore(writer)
  }
  const last = await enqueueChore(writer)
  wake()
  expect(await namesUntil(stream, (name) => name.startsWith(last))).toHaveLength(6)
  await until(() => relay.openGaps() === 0, 'the gaps are closed')
  await stream.return()
  await unrelated.query('rollback')
  await Promise.all([unrelated.end(), writer.end()])
})

test('what was under way when the first subscriber came is told', async () => {
  const late = await session()
  await late.query('begin')
  const lateJob = await enqueueChore(late)
  await enqueueChore(database().pool)
  const { relay, ofJobs } = newRelay()
  const after = await relay.streamCursor()
  const stream = ofJobs({ after })
  const names = namesUntil(stream, (name) => name.startsWith(lateJob))
  await until(() => relay.openGaps() > 0, 'the relay has begun')
  await late.query('commit')
  expect(await names).toEqual([`${lateJob}:1:ENQUEUED`])
  await stream.return()
  await late.end()
})

test('a row that no month has room for is told', async () => {
  const { relay, ofJobs, wake } = newRelay()
  const jobId = await enqueueChore(database().pool)
  const stream = ofJobs({ after: await relay.streamCursor() })
  await database().sql(
    `insert into mdm.aa_audit_log (at, job_id, tenant_id, action, revision, job_kind)
     select now() + interval '20 years', id, tenant_id, 'job_reprioritized', 2, job_kind from mdm.aa_job where id = $1`,
    [jobId],
  )
  wake()
  expect(await namesUntil(stream, () => true)).toEqual([`${jobId}:2:REPRIORITIZED`])
  await stream.return()
})
