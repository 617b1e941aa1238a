import { expect, test } from 'vitest'
import { enqueueChore } from './job-moves.ts'
import { relayFixture } from './relay-fixture.ts'
import { namesOf, namesUntil, stepsOf, toItsEnd } from './stream-reading.ts'

const { database, newRelay } = relayFixture()

async function changePriority(jobId: string): Promise<void> {
  await database().sql(
    `with moved as (update mdm.aa_job set priority = 1, revision = revision + 1 where id = $1 returning *)
     insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind) select id, tenant_id, 'job_reprioritized', revision, job_kind from moved`,
    [jobId],
  )
}

test.concurrent('without news an empty batch brings a fresh cursor within 15 seconds', async () => {
  const { relay, ofJobs } = newRelay()
  const stream = ofJobs({ filter: { kind: ['none of these'] } })
  const next = stream.next()
  const jobId = await enqueueChore(database().pool)
  const since = performance.now()
  const { value } = await next
  expect(value).toMatchObject({ updates: [], resync: false })
  expect(performance.now() - since).toBeLessThan(15_500)
  await stream.return()
  // It is past what was no business of this stream.
  const after = await enqueueChore(database().pool)
  const resumed = ofJobs({ after: value!.cursor })
  expect(await namesUntil(resumed, () => true)).toEqual([`${after}:1:ENQUEUED`])
  expect(jobId).not.toBe(after)
  await resumed.return()
  expect(relay.openStreams()).toBe(0)
})

test.concurrent('a job that retention deleted ends its streams: there is no state any more', async () => {
  const { ofJob } = newRelay()
  const jobId = await enqueueChore(database().pool)
  const stream = ofJob(jobId, { completeOn: [] })
  const { cursor } = (await stream.next()).value!
  await database().sql('delete from mdm.aa_job where id = $1', [jobId])
  expect(await toItsEnd(stream)).toMatchObject([{ type: 'RESYNC', job: null, event: null }])
  await expect(ofJob(jobId, { after: cursor }).next()).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a cursor of a database that was set back is told to begin anew', async () => {
  const { relay, ofJob, ofJobs } = newRelay()
  const jobId = await enqueueChore(database().pool)
  const now = await relay.streamCursor()
  const [, , minute] = now.split('.')
  const stream = ofJobs({ after: `jobs.zzzzzz.${minute}..` })
  const first = (await stream.next()).value!
  expect(first).toMatchObject({ updates: [], resync: true })
  const next = stream.next()
  const later = await enqueueChore(database().pool)
  expect(namesOf((await next).value!)).toEqual([`${later}:1:ENQUEUED`])
  await stream.return()
  const one = ofJob(jobId, { after: `job.${jobId}.99` })
  expect(stepsOf([(await one.next()).value!])).toEqual(['RESYNC 1'])
  await one.return()
})

test('a cursor older than the history is told to begin anew', async () => {
  const { relay, ofJob, ofJobs } = newRelay()
  const jobId = await enqueueChore(database().pool)
  const cursor = await relay.streamCursor()
  await changePriority(jobId)
  await database().sql(`do $$ declare partition regclass; begin
    for partition in select inhrelid from pg_inherits where inhparent = 'mdm.aa_audit_log'::regclass and inhrelid <> 'mdm_journal.aa_audit_log_default'::regclass
    loop execute format('drop table %s', partition); end loop; end $$`)
  await changePriority(jobId)
  const stream = ofJobs({ after: cursor })
  expect((await stream.next()).value).toMatchObject({ updates: [], resync: true })
  await stream.return()
  // This one's event of revision 2 is gone.
  const one = ofJob(jobId, { after: `job.${jobId}.1` })
  expect(stepsOf([(await one.next()).value!])).toEqual(['RESYNC 3'])
  await one.return()
  const current = ofJob(jobId, { after: `job.${jobId}.2` })
  expect(stepsOf([(await current.next()).value!])).toEqual(['REPRIORITIZED 3'])
  await current.return()
})
