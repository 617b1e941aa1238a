import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noTenant as firstTenant } from '../../src/jobs/fairness.ts'
import { jobStatuses, moves, type JobStatus, type Move, type MoveName } from '../../src/jobs/lifecycle.ts'
import { absorbFanOuts } from '../../src/sql/absorb-fan-outs.ts'
import { cancelJob } from '../../src/sql/cancel-job.ts'
import { claimCappedByPriority } from '../../src/sql/claim-capped-by-priority.ts'
import { claimCapped } from '../../src/sql/claim-capped.ts'
import { claimFairByKind } from '../../src/sql/claim-fair-by-kind.ts'
import { claimFairOfTenants } from '../../src/sql/claim-fair-of-tenants.ts'
import { claimFair } from '../../src/sql/claim-fair.ts'
import { noKey } from '../../src/sql/claim-parts.ts'
import { claimPriorityByKind } from '../../src/sql/claim-priority-by-kind.ts'
import { claimPriority } from '../../src/sql/claim-priority.ts'
import { discardJob } from '../../src/sql/discard-job.ts'
import { enqueueClaimed } from '../../src/sql/enqueue-claimed.ts'
import { failJobs } from '../../src/sql/fail-jobs.ts'
import { finishJobsWithResults } from '../../src/sql/finish-jobs-with-results.ts'
import { finishJobs } from '../../src/sql/finish-jobs.ts'
import { readClaim } from '../../src/sql/read-claim.ts'
import { recoverDeadInstances } from '../../src/sql/recover-dead-instances.ts'
import { recoverLostClaims } from '../../src/sql/recover-lost-claims.ts'
import { recoverStaleJobs } from '../../src/sql/recover-stale-jobs.ts'
import { releaseJobs } from '../../src/sql/release-jobs.ts'
import { replayJob } from '../../src/sql/replay-job.ts'
import { reprioritizeJob } from '../../src/sql/reprioritize-job.ts'
import { requestCancel } from '../../src/sql/request-cancel.ts'
import { requestStop } from '../../src/sql/request-stop.ts'
import { rescheduleJob } from '../../src/sql/reschedule-job.ts'
import { runJobNow } from '../../src/sql/run-job-now.ts'
import { setConcurrencyLimit } from '../../src/sql/set-concurrency-limit.ts'
import { stopJob } from '../../src/sql/stop-job.ts'
import { stopTenantJobs } from '../../src/sql/stop-tenant-jobs.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { oldestServerMissing } from '../support/oldest-server.ts'
import {
  claimOf,
  claimParams,
  drawLease,
  journalOf,
  registerTestKinds,
  storedJob,
  testTenant,
  testWorker,
  type StoredJob,
  type TestWorker,
  noPast,
} from './support.ts'

const kind = 'moved'

/** A job put into a status by real moves. */
interface Arranged {
  readonly id: string
  readonly tenantId: string
  readonly lease: string
  readonly claimId: string
}

interface Stage {
  readonly database: TestDatabase
  readonly worker: TestWorker
}

type Call = (stage: Stage, job: Arranged, lease: string | null) => Promise<unknown>

/** What has to be so before a call; made on the row as the moves before it would have left it. */
interface Way {
  readonly statement: string
  /** Where it starts from fewer statuses than the move. */
  readonly from?: readonly JobStatus[]
  readonly before?: (stage: Stage, job: Arranged) => Promise<unknown>
  readonly call: Call
}

const fail =
  (permanent: boolean): Call =>
  ({ database, worker }, { id, claimId }, lease) =>
    failJobs(
      database.pool,
      [id],
      [lease as string],
      worker.id,
      [claimId],
      [1000],
      [permanent],
      ['Error: no'],
      ['Error'],
      [null],
      ['f'],
      [null],
    )

const release: Call = ({ database, worker }, { id, claimId }, lease) =>
  releaseJobs(database.pool, [id], [lease as string], worker.id, [claimId], [0], [false], ['shutdown'])

const usedUp = ({ database }: Stage, { id }: Arranged) =>
  database.sql('update mdm.aa_job set attempts = max_attempts where id = $1', [id])

const asked =
  (request: typeof requestStop) =>
  ({ database }: Stage, { id }: Arranged) =>
    request(database.pool, id, null, null, 'user:ada', 'enough', 'r1')

const orphaned = ({ database }: Stage, { claimId }: Arranged) =>
  database.sql('update mdm.aa_claim set instance_id = gen_random_uuid() where id = $1', [claimId || null])

const stale = ({ database }: Stage, { id }: Arranged) =>
  database.sql(`update mdm.aa_job set claimed_at = claimed_at - interval '1 hour' where id = $1`, [id])

const unclaimed = async (stage: Stage, job: Arranged) => {
  await stale(stage, job)
  await stage.database.sql('delete from mdm.aa_claim where id = $1', [job.claimId || null])
}

/** Recovery takes the fence from the claim's row: a wrong lease is one that stands there. */
const underLease =
  (recover: (stage: Stage) => Promise<unknown>): Call =>
  async (stage, { claimId }, lease) => {
    if (claimId !== '' && lease !== null)
      await stage.database.sql('update mdm.aa_claim set lease = $2 where id = $1', [claimId, lease])
    return recover(stage)
  }

const both =
  (...steps: NonNullable<Way['before']>[]): NonNullable<Way['before']> =>
  async (stage, job) => {
    for (const step of steps) await step(stage, job)
  }

const fromDead: Way = {
  statement: 'recover_dead_instances',
  before: orphaned,
  call: underLease(({ database }) => recoverDeadInstances(database.pool, 30_000, 100)),
}
const fromStale: Way = {
  statement: 'recover_stale_jobs',
  before: stale,
  call: underLease(({ database }) => recoverStaleJobs(database.pool, 100)),
}
const fromLost: Way = {
  statement: 'recover_lost_claims',
  before: unclaimed,
  call: ({ database }) => recoverLostClaims(database.pool, 100),
}

const fairParams = [firstTenant, 100, 1, '{}', firstTenant, 0, ...noPast] as const
const cappedParams = ['{}', null, firstTenant, '{}'] as const
const capped = ({ database }: Stage) => setConcurrencyLimit(database.pool, kind, null, 10_000, 'user:ada', 'r1')
const admin = (id: string) => [id, null, null, 'user:ada', 'because', 'r1'] as const

const enqueue = ({ database }: Stage, tenantId: string, mode: 'ignore' | 'update', payload: object) =>
  database.sql<{ job_id: string; outcome: string }>(
    `select * from mdm.enqueue_job($1, $2, tenant => $3, idempotency_key => 'key', on_conflict => $4)`,
    [kind, payload, tenantId, mode],
  )

const enqueuedClaimed = ({ pool }: TestDatabase, { name, instanceId }: TestWorker, tenantId: string, lease: string) =>
  enqueueClaimed(pool, tenantId, kind, '{"a": 1}', null, null, null, 'user:ada', 'r1', name, instanceId, lease)

/** Every statement that makes a move. A move without an entry does not compile. */
const ways: Record<MoveName, readonly Way[]> = {
  enqueue: [{ statement: 'enqueue_job', call: (stage, { tenantId }) => enqueue(stage, tenantId, 'ignore', { a: 1 }) }],
  enqueueClaimed: [
    {
      statement: 'enqueue_claimed',
      call: ({ database, worker }, { tenantId }, lease) => enqueuedClaimed(database, worker, tenantId, lease!),
    },
  ],
  update: [{ statement: 'enqueue_job', call: (stage, { tenantId }) => enqueue(stage, tenantId, 'update', { a: 2 }) }],
  claim: [
    {
      statement: 'claim_fair',
      call: ({ database, worker }) =>
        claimFair(database.pool, ...claimParams(worker, [kind], 100), ...fairParams, false),
    },
    {
      statement: 'claim_fair_by_kind',
      call: ({ database, worker }) =>
        claimFairByKind(database.pool, ...claimParams(worker, [kind], 100), ...fairParams, '{}', '{}'),
    },
    {
      statement: 'claim_fair_of_tenants',
      call: ({ database, worker }, { tenantId }) =>
        claimFairOfTenants(database.pool, ...claimParams(worker, [kind], 100), ...fairParams, '{}', '{}', [tenantId]),
    },
    {
      statement: 'claim_priority',
      call: ({ database, worker }) => claimPriority(database.pool, ...claimParams(worker, [kind], 100), null, ...noKey),
    },
    {
      statement: 'claim_priority_by_kind',
      call: ({ database, worker }) =>
        claimPriorityByKind(database.pool, ...claimParams(worker, [kind], 100), null, ...noKey, '{}'),
    },
    {
      statement: 'claim_capped',
      before: capped,
      call: ({ database, worker }) => claimCapped(database.pool, ...claimParams(worker, [kind], 100), ...cappedParams),
    },
    {
      statement: 'claim_capped_by_priority',
      before: capped,
      call: ({ database, worker }) =>
        claimCappedByPriority(database.pool, ...claimParams(worker, [kind], 100), ...cappedParams),
    },
  ],
  finish: [
    {
      statement: 'finish_jobs',
      call: ({ database, worker }, { id, claimId }, lease) =>
        finishJobs(database.pool, [id], [lease as string], worker.id, [claimId]),
    },
    {
      statement: 'finish_jobs_with_results',
      call: ({ database, worker }, { id, claimId }, lease) =>
        finishJobsWithResults(database.pool, [id], [lease as string], worker.id, [claimId], ['{"sent":1}']),
    },
  ],
  absorb: [
    {
      statement: 'absorb_fan_outs',
      before: ({ database }, { id }) =>
        database.sql(
          `update mdm.aa_job set job_kind = 'outbox_dispatch', payload = '{"phase": "fanout"}', priority = 59 where id = $1`,
          [id],
        ),
      call: ({ database }, { tenantId }) => absorbFanOuts(database.pool, tenantId, 59, 100),
    },
  ],
  retry: [{ statement: 'fail_jobs', call: fail(false) }],
  bury: [
    { statement: 'fail_jobs', call: fail(true) },
    { statement: 'fail_jobs', before: usedUp, call: fail(false) },
  ],
  release: [{ statement: 'release_jobs', call: release }],
  obeyStop: [
    { statement: 'fail_jobs', before: asked(requestStop), call: fail(false) },
    { statement: 'release_jobs', before: asked(requestStop), call: release },
    { ...fromDead, before: both(asked(requestStop), orphaned) },
    { ...fromStale, before: both(asked(requestStop), stale) },
  ],
  obeyCancel: [
    { statement: 'fail_jobs', before: asked(requestCancel), call: fail(false) },
    { statement: 'release_jobs', before: asked(requestCancel), call: release },
    { ...fromDead, before: both(asked(requestCancel), orphaned) },
    { ...fromStale, before: both(asked(requestCancel), stale) },
  ],
  recover: [fromDead, fromStale, fromLost],
  recoverToDlq: [fromDead, fromStale, fromLost].map((way) => ({ ...way, before: both(usedUp, way.before!) })),
  requestStop: [
    { statement: 'request_stop', call: ({ database }, { id }) => requestStop(database.pool, ...admin(id)) },
  ],
  requestCancel: [
    { statement: 'request_cancel', call: ({ database }, { id }) => requestCancel(database.pool, ...admin(id)) },
  ],
  stop: [
    { statement: 'stop_job', call: ({ database }, { id }) => stopJob(database.pool, ...admin(id)) },
    {
      statement: 'stop_tenant_jobs',
      from: ['pending'],
      before: ({ database }, { tenantId }) =>
        database.sql(`update mdm.aa_tenant set status = 'closed' where id = $1`, [tenantId]),
      call: ({ database }, { tenantId }) =>
        stopTenantJobs(database.pool, tenantId, [], 100, 'user:ada', 'because', 'r1'),
    },
  ],
  cancel: [{ statement: 'cancel_job', call: ({ database }, { id }) => cancelJob(database.pool, ...admin(id)) }],
  reschedule: [
    {
      statement: 'reschedule_job',
      call: ({ database }, { id }) => rescheduleJob(database.pool, ...admin(id), null, 60_000),
    },
    { statement: 'run_job_now', call: ({ database }, { id }) => runJobNow(database.pool, ...admin(id)) },
  ],
  reprioritize: [
    { statement: 'reprioritize_job', call: ({ database }, { id }) => reprioritizeJob(database.pool, ...admin(id), 7) },
  ],
  replay: [
    {
      statement: 'replay_job',
      call: ({ database }, { id }) => replayJob(database.pool, ...admin(id), null, null, null),
    },
  ],
  discard: [{ statement: 'discard_job', call: ({ database }, { id }) => discardJob(database.pool, ...admin(id)) }],
}

/** Statuses reached by real moves; a job that never ran has no lease: one is drawn that nobody holds. */
async function arrange(stage: Stage, status: JobStatus): Promise<Arranged> {
  const { database, worker } = stage
  const tenantId = await testTenant(database)
  const [{ job_id: id } = { job_id: '' }] = await enqueue(stage, tenantId, 'ignore', { a: 1 })
  if (status === 'pending') return { id, tenantId, lease: drawLease(), claimId: '0' }
  const { lease, claimId } = await claimOf(database.pool, worker, tenantId, [kind])
  const job = { id, tenantId, lease, claimId }
  if (status === 'done') await finishJobs(database.pool, [id], [lease], worker.id, [claimId])
  if (status === 'dlq' || status === 'failed') await fail(true)(stage, job, lease)
  if (status === 'failed') await stopJob(database.pool, ...admin(id))
  expect((await storedJob(database, id))?.status).toBe(status)
  return job
}

/** What a status means for the row's other columns. */
function shapeOf(job: StoredJob | undefined) {
  if (job === undefined) return null
  return {
    status: job.status,
    revision: job.revision,
    leased: job.lease !== null,
    ended: job.completed_at !== null,
    dead: job.dead_at !== null,
    stopped: job.stop_requested_at !== null,
  }
}

for (const version of [18, 16] as const) {
  describe(`on PostgreSQL ${version}`, () => {
    if (version === 16 && oldestServerMissing !== null) {
      leaveOut(oldestServerMissing)
      return
    }
    let stage: Stage
    beforeAll(async () => {
      const database = await testDatabase({ version })
      await registerTestKinds(database.pool, [kind])
      stage = { database, worker: await testWorker(database.pool) }
    })
    afterAll(() => stage.database.drop())

    const look = async (id: string) => ({
      job: await storedJob(stage.database, id),
      journal: await journalOf(stage.database, id),
    })

    for (const [name, move] of Object.entries(moves) as [MoveName, Move][]) {
      for (const [nth, way] of ways[name].entries()) {
        const label = `${name} by ${way.statement}${nth > 0 ? ` (${nth + 1})` : ''}`

        for (const status of jobStatuses.filter((each) => (way.from ?? move.from).includes(each))) {
          test(`${label}: ${status} -> ${move.to}`, async () => {
            const job = await arrange(stage, status)
            await way.before?.(stage, job)
            const before = await look(job.id)
            await way.call(stage, job, job.lease)
            const after = await look(job.id)
            const written = after.journal.slice(before.journal.length)
            expect(written.map(({ action, revision }) => ({ action, revision }))).toEqual(
              move.action === null ? [] : [{ action: move.action, revision: before.job!.revision + 1 }],
            )
            expect(shapeOf(after.job)).toEqual(
              move.to === 'deleted'
                ? null
                : {
                    status: move.to,
                    revision: before.job!.revision + 1,
                    leased: move.to === 'running',
                    ended: move.to !== 'pending' && move.to !== 'running',
                    dead: move.to === 'dlq' || move.to === 'failed',
                    stopped: /stop|cancel/i.test(name),
                  },
            )
          })
        }

        for (const status of jobStatuses.filter((each) => !(way.from ?? move.from).includes(each))) {
          test(`${label}: nothing happens to a job that is ${status}`, async () => {
            const job = await arrange(stage, status)
            // What only a running job can be asked for is asked of none: the call itself has to refuse.
            if (status === 'running' || !/asked/.test(String(way.before))) await way.before?.(stage, job)
            const before = await look(job.id)
            await way.call(stage, job, job.lease)
            expect(await look(job.id)).toEqual(before)
          })
        }

        if (!move.fenced || way.statement === 'recover_lost_claims') continue
        test.each(['wrong', 'null', 'outdated'] as const)(
          `${label}: a lease that is %s changes nothing`,
          async (which) => {
            let job = await arrange(stage, 'running')
            let lease: string | null = drawLease()
            if (which === 'null') lease = null
            if (which === 'outdated') {
              lease = job.lease
              await release(stage, job, job.lease)
              const again = await claimOf(stage.database.pool, stage.worker, job.tenantId, [kind])
              job = { ...job, lease: again.lease, claimId: again.claimId }
            }
            await way.before?.(stage, job)
            const before = await look(job.id)
            if (which === 'null' && way.statement.startsWith('recover')) {
              // A claim's row always has a lease; a job without one is not its.
              await stage.database.sql('update mdm.aa_job set lease = null where id = $1', [job.id])
              await way.call(stage, job, null)
              await stage.database.sql('update mdm.aa_job set lease = $2 where id = $1', [job.id, job.lease])
            } else await way.call(stage, job, lease)
            expect(await look(job.id)).toEqual(before)
          },
        )
      }
    }

    test('enqueue by enqueue_job: (none) -> pending', async () => {
      const job = await arrange(stage, 'pending')
      const { job: row, journal } = await look(job.id)
      expect(row).toMatchObject({
        status: 'pending',
        revision: 1,
        lease: null,
        deferred: false,
        enqueued_by: 'sql:postgres',
      })
      expect(journal).toMatchObject([{ action: 'job_enqueued', revision: 1, actor_principal_id: 'sql:postgres' }])
    })

    test('enqueueClaimed by enqueue_claimed: (none) -> running', async () => {
      const { database, worker } = stage
      const lease = drawLease()
      const [claimed] = await enqueuedClaimed(database, worker, await testTenant(database), lease)
      const { job: row, journal } = await look(claimed![0])
      expect(row).toMatchObject({ status: 'running', revision: 2, claim_revision: 2, attempts: 1, runs: 1, lease })
      expect(journal).toMatchObject([{ action: 'job_enqueued', revision: 1, actor_principal_id: 'user:ada' }])
      expect(await readClaim(database.pool, lease)).toEqual([claimed])
    })

    test('each move starts from the statuses of the table and from no other', () => {
      const known = new Set<string>([...jobStatuses, 'absent'])
      for (const [name, { from }] of Object.entries(moves)) {
        expect(from.length, name).toBeGreaterThan(0)
        expect(
          from.every((status) => known.has(status)),
          name,
        ).toBe(true)
        expect(ways[name as MoveName].length, name).toBeGreaterThan(0)
      }
    })
  })
}
