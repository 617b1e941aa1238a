import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { encodeDeadLetterGroup } from '../../src/jobs/dead-letter-group-id.ts'
import type { Event } from '../../src/jobs/event.ts'
import type { JobStatus } from '../../src/jobs/lifecycle.ts'
import type { Caller } from '../../src/jobs/permissions.ts'
import { pruneBulkOperations } from '../../src/sql/prune-bulk-operations.ts'
import { createBulkRunner, type BulkRunner } from '../../src/workers/bulk-runner.ts'
import type { FollowUps } from '../../src/workers/follow-ups.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let acme: string
let globex: string
const told: Event[] = []
let followFails = false
const followUps: FollowUps = new Map([
  [
    'resize_image',
    async (tx, job, outcome) => {
      await tx.query('insert into followed (job_id, move, error) values ($1, $2, $3)', [
        job.id,
        outcome.move,
        outcome.error,
      ])
      if (followFails) throw new Error('no')
    },
  ],
])

beforeAll(async () => {
  api = await testApi()
  api.deps.events.on((event) => void told.push(event))
  acme = await api.tenant('acme')
  globex = await api.tenant('globex')
  await api.sql('create table followed (job_id uuid, move text, error text)')
})
afterAll(() => api.stop())
afterEach(async () => {
  followFails = false
  told.length = 0
  await api.sql(`update mdm.aa_bulk_operation set status = 'completed', finished_at = now() where finished_at is null`)
  await api.sql('delete from mdm.aa_job')
})

type Action = 'replayJobs' | 'discardJobs' | 'cancelJobs' | 'stopJobs'

const shape = `
  operation { id action status matched processed succeeded skipped ratePerSecond reason error finishedAt by { id kind } }
  preview { matched { count precision } rows { kind { name } tenant { key } count } sample(first: 3) { id } }
  errors { __typename code message path ... on LimitError { limit actual } }`

async function call(action: Action, input: object, as: Caller = admin) {
  const answer = await api.run(
    `mutation($input: BulkJobsInput!) { ${action}(input: $input) { ${shape} } }`,
    { input: { dryRun: false, ...input } },
    as,
  )
  if (answer.data === null) throw Object.assign(new Error(answer.errors[0]!.message), { code: codeOf(answer) })
  return answer.data[action]
}

const toldOf = (id: string) => told.filter((event) => 'operationId' in event && `bulk_${event.operationId}` === id)

function runner(pollMs = 20): BulkRunner {
  const { pools, events, wakeup } = api.deps
  return createBulkRunner({ pool: pools.commit, events, wakeup, pollMs, followUps })
}

/** Works off what is there. */
async function runAll(): Promise<void> {
  const running = runner()
  running.start()
  await until(
    async () => (await api.sql('select from mdm.aa_bulk_operation where finished_at is null')).length === 0,
    'all operations have ended',
  )
  await running.stop()
}

/** Jobs in a status, made by the moves that lead there, oldest first. */
async function jobsIn(
  status: JobStatus,
  count = 1,
  { tenantId = acme, kind = 'echo' }: { tenantId?: string; kind?: string } = {},
): Promise<string[]> {
  const rows = await api.sql<{ id: string }>(
    `insert into mdm.aa_job (tenant_id, job_kind, payload, revision, max_attempts)
     select $1, $2, '{"n": 1}', 1, 3 from generate_series(1, $3::int) returning id`,
    [tenantId, kind, count],
  )
  const ids = rows.map(({ id }) => id).toSorted()
  if (status !== 'pending')
    await api.sql(`update mdm.aa_job set status = 'running', attempts = 1 where id = any ($1)`, [ids])
  if (status !== 'pending' && status !== 'running') {
    await api.sql(
      `update mdm.aa_job set status = $2::mdm.job_status, last_error = case when $2::text <> 'done' then 'Error: broken' end where id = any ($1)`,
      [ids, status],
    )
  }
  return ids
}

const statusOf = async (ids: readonly string[]): Promise<string[]> =>
  (
    await api.sql<{ status: string | null }>(
      'select j.status from unnest($1::uuid[]) with ordinality u(id, n) left join mdm.aa_job j using (id) order by n',
      [ids],
    )
  ).map(({ status }) => status ?? 'gone')

const journaled = (ids: readonly string[], action: string) =>
  api.sql('select * from mdm.aa_audit_log where job_id = any ($1) and action = $2::mdm.audit_action order by id', [
    ids,
    action,
  ])

const operation = async (id: string) =>
  (
    await api.run(
      `query($id: ID!) { node(id: $id) { ... on BulkOperation { id action status matched processed succeeded skipped error finishedAt } } }`,
      { id },
    )
  ).data.node

const cancelOperation = async (id: string, as: Caller = admin) =>
  (
    await api.run(
      `mutation($id: ID!) { cancelBulkOperation(input: { id: $id }) { operation { id status processed } errors { code path } } }`,
      { id },
      as,
    )
  ).data.cancelBulkOperation

describe('a dry run', () => {
  test('says what would be taken and changes nothing', async () => {
    const ids = [
      ...(await jobsIn('dlq', 3)),
      ...(await jobsIn('dlq', 2, { kind: 'resize_image' })),
      ...(await jobsIn('dlq', 1, { tenantId: globex })),
    ]
    await jobsIn('failed')
    const answer = await call('replayJobs', { select: { filter: { status: ['DLQ', 'FAILED'] } }, dryRun: true })
    expect(answer).toMatchObject({
      operation: null,
      errors: [],
      preview: {
        matched: { count: 6, precision: 'EXACT' },
        rows: [
          { kind: { name: 'echo' }, tenant: { key: 'acme' }, count: 3 },
          { kind: { name: 'resize_image' }, tenant: { key: 'acme' }, count: 2 },
          { kind: { name: 'echo' }, tenant: { key: 'globex' }, count: 1 },
        ],
        sample: ids.slice(0, 3).map((id) => ({ id: `job_${id}` })),
      },
    })
    expect(await statusOf(ids)).toEqual(Array(6).fill('dlq'))
    expect((await api.run('{ bulkOperations { nodes { id } } }')).data.bulkOperations.nodes).toEqual([])
  })
})

describe('what is asked for', () => {
  test.each([{}, { tag: [] }, { payload: {} }, { priority: {} }, { createdAt: {} }, { errorText: '' }])(
    'the filter %o is empty and refused',
    async (filter) => {
      const [id] = await jobsIn('pending')
      for (const dryRun of [true, false])
        expect(await call('cancelJobs', { select: { filter }, dryRun })).toMatchObject({
          operation: null,
          errors: [{ code: 'INVALID', path: ['select', 'filter'] }],
        })
      expect(await statusOf([id!])).toEqual(['pending'])
    },
  )

  test('a discard says how many it expects; another number changes nothing', async () => {
    const ids = await jobsIn('dlq', 2)
    const select = { filter: { kind: ['echo'] } }
    expect((await call('discardJobs', { select })).errors).toMatchObject([{ code: 'INVALID', path: ['expectedCount'] }])
    expect((await call('discardJobs', { select, expectedCount: 3 })).errors).toMatchObject([
      { __typename: 'LimitError', code: 'COUNT_MISMATCH', path: ['expectedCount'], limit: 3, actual: 2 },
    ])
    expect(await statusOf(ids)).toEqual(['dlq', 'dlq'])
    const { operation: started } = await call('discardJobs', { select, expectedCount: 2 })
    expect(started).toMatchObject({ status: 'QUEUED', matched: 2 })
    await runAll()
    expect(await statusOf(ids)).toEqual(['gone', 'gone'])
  })

  test.each([
    [{ limit: 0 }, 'limit'],
    [{ limit: 100_001 }, 'limit'],
    [{ ratePerSecond: 0 }, 'ratePerSecond'],
    [{ ratePerSecond: 10_001 }, 'ratePerSecond'],
    [{ expectedCount: -1 }, 'expectedCount'],
    [{ idempotencyKey: '' }, 'idempotencyKey'],
    [{ reason: 'x'.repeat(501) }, 'reason'],
  ])('%o is refused', async (input, field) => {
    const { errors } = await call('stopJobs', { select: { filter: { kind: ['echo'] } }, ...input })
    expect(errors).toMatchObject([{ code: 'INVALID', path: [field] }])
  })

  test('at most 1,000 ids, and at least one', async () => {
    const ids = Array.from({ length: 1_001 }, () => `job_${crypto.randomUUID()}`)
    expect((await call('stopJobs', { select: { ids } })).errors).toMatchObject([
      { code: 'LIMIT_EXCEEDED', path: ['select', 'ids'], limit: 1_000, actual: 1_001 },
    ])
    expect((await call('stopJobs', { select: { ids: [] } })).errors).toMatchObject([{ code: 'INVALID' }])
    expect((await call('stopJobs', { select: { ids: ids.slice(1) } })).operation).toMatchObject({ matched: 0 })
  })

  test('of more than the limit the oldest are taken', async () => {
    const ids = await jobsIn('pending', 5)
    await call('stopJobs', { select: { filter: { kind: ['echo'] } }, limit: 2, expectedCount: 5 })
    await runAll()
    expect(await statusOf(ids)).toEqual(['failed', 'failed', 'pending', 'pending', 'pending'])
  })

  test('a replay takes what was stopped only by its id', async () => {
    const [stopped] = await jobsIn('failed')
    expect((await call('replayJobs', { select: { filter: { status: ['FAILED'] } } })).operation.matched).toBe(0)
    expect((await call('replayJobs', { select: { ids: [stopped] } })).operation.matched).toBe(1)
    await runAll()
    expect(await statusOf([stopped!])).toEqual(['pending'])
  })

  test('a replay leaves closed tenants alone, also those closed since', async () => {
    const [closed] = await jobsIn('dlq', 1, { tenantId: globex })
    const [open] = await jobsIn('dlq')
    const close = (status: string) => api.sql('update mdm.aa_tenant set status = $2 where id = $1', [globex, status])
    const { operation: both } = await call('replayJobs', { select: { filter: { status: ['DLQ'] } } })
    await close('closed')
    expect((await call('replayJobs', { select: { filter: { status: ['DLQ'] } } })).operation.matched).toBe(1)
    await runAll()
    await close('active')
    expect(await operation(both.id)).toMatchObject({ matched: 2, succeeded: 1, skipped: 1 })
    expect(await statusOf([closed!, open!])).toEqual(['dlq', 'pending'])
  })

  test('a group of dead letters', async () => {
    const ids = await jobsIn('dlq', 2)
    const [other] = await jobsIn('dlq', 1, { kind: 'resize_image' })
    const deadLetterGroup = encodeDeadLetterGroup({ kind: 'echo', fingerprint: '', filter: { tenantId: ['acme'] } })
    expect((await call('replayJobs', { select: { deadLetterGroup } })).operation.matched).toBe(2)
    await runAll()
    expect(await statusOf([...ids, other!])).toEqual(['pending', 'pending', 'dlq'])
    for (const id of ['deadletters_x', encodeDeadLetterGroup({ filter: { kind: 5 } })])
      expect((await call('replayJobs', { select: { deadLetterGroup: id } })).errors).toMatchObject([
        { code: 'NOT_FOUND', path: ['select', 'deadLetterGroup'] },
      ])
  })

  test('a filter into payloads needs READ_PAYLOADS', async () => {
    const blind = caller({ tenantIds: 'all', may: ['MANAGE_METADATA'] })
    await expect(call('stopJobs', { select: { filter: { errorText: 'x' } } }, blind)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })
})

describe.each([
  ['replayJobs', { dlq: 'pending' }, { dlq: 'job_replay' }],
  [
    'discardJobs',
    { pending: 'gone', dlq: 'gone', failed: 'gone' },
    { pending: 'job_discard', dlq: 'job_discard', failed: 'job_discard' },
  ],
  ['cancelJobs', { pending: 'failed', running: 'running' }, { pending: 'job_cancel', running: 'job_cancel_requested' }],
  [
    'stopJobs',
    { pending: 'failed', dlq: 'failed', running: 'running' },
    { pending: 'job_stop', dlq: 'job_stop', running: 'job_stop_requested' },
  ],
] as const)('%s', (action, to, journal) => {
  test('makes the ordinary move of each job that allows it', async () => {
    const ids: Record<string, string> = {}
    for (const status of ['pending', 'running', 'done', 'dlq', 'failed'] as const)
      ids[status] = (await jobsIn(status))[0]!
    const expected = Object.keys(to).length
    const { operation: started, errors } = await call(action, {
      select: { filter: { kind: ['echo'] } },
      expectedCount: expected,
      reason: 'because',
    })
    expect(errors).toEqual([])
    await runAll()
    const [start] = await api.sql(
      `select * from mdm.aa_audit_log where action = 'bulk_start' and payload->>'operation' = $1`,
      [started.id.slice('bulk_'.length)],
    )
    for (const [status, id] of Object.entries(ids)) {
      const now = to[status as keyof typeof to] as string | undefined
      expect(await statusOf([id]), status).toEqual([now ?? status])
      if (now === undefined) continue
      const rows = await journaled([id], journal[status as keyof typeof journal])
      expect(rows).toMatchObject([
        { actor_principal_id: 'user:ada', reason: 'because', request_id: start!.request_id, tenant_id: acme },
      ])
    }
    expect(await operation(started.id)).toMatchObject({
      status: 'COMPLETED',
      matched: expected,
      processed: expected,
      succeeded: expected,
      skipped: 0,
      finishedAt: expect.any(String),
    })
    const ends = await api.sql(
      `select * from mdm.aa_audit_log where action = 'bulk_end' and payload->>'operation' = $1`,
      [started.id.slice('bulk_'.length)],
    )
    expect(ends).toMatchObject([{ tenant_id: acme, payload: { succeeded: expected, status: 'completed' } }])
    expect(await api.sql('select from mdm.aa_bulk_target')).toEqual([])
  })
})

describe('jobs that have moved on', () => {
  test('are left alone and counted', async () => {
    const [replayed, touched, plain] = await jobsIn('dlq', 3)
    const { operation: started } = await call('replayJobs', { select: { filter: { kind: ['echo'] } } })
    const [late] = await jobsIn('dlq')
    // Replayed by hand, it ran and died again: it is in the status that was asked for, but no longer the same failure.
    for (const status of ['pending', 'running', 'dlq'])
      await api.sql('update mdm.aa_job set status = $2::mdm.job_status where id = $1', [replayed, status])
    await api.run(`mutation($id: ID!) { discardJob(input: { id: $id }) { errors { code } } }`, { id: touched })
    await runAll()
    expect(await operation(started.id)).toMatchObject({ matched: 3, succeeded: 1, skipped: 2 })
    expect(await statusOf([replayed!, touched!, plain!, late!])).toEqual(['dlq', 'gone', 'pending', 'dlq'])
  })

  test.each([
    [{}, 'job_cancel_requested'],
    [{ status: ['PENDING'] }, null],
  ])('a claim alone is no such move where running jobs are meant too: %o', async (more, action) => {
    const [id] = await jobsIn('pending')
    await call('cancelJobs', { select: { filter: { kind: ['echo'], ...more } } })
    await api.sql(`update mdm.aa_job set status = 'running', attempts = 1 where id = $1`, [id])
    await runAll()
    expect(await statusOf([id!])).toEqual(['running'])
    expect(await journaled([id!], 'job_cancel_requested')).toHaveLength(action === null ? 0 : 1)
  })

  test('administrators at the same jobs: each is replayed once', async () => {
    const ids = await jobsIn('dlq', 150)
    const { operation: started } = await call('replayJobs', { select: { filter: { kind: ['echo'] } } })
    const running = [runner(), runner()]
    for (const each of running) each.start()
    const single = await Promise.all(
      ids
        .filter((_, index) => index % 2 === 0)
        .map((id) => api.run(`mutation($id: ID!) { replayJob(input: { id: $id }) { errors { code } } }`, { id })),
    )
    await until(async () => (await operation(started.id)).status === 'COMPLETED', 'the operation has ended')
    await Promise.all(running.map((each) => each.stop()))
    const byHand = single.filter(({ data }) => data.replayJob.errors.length === 0).length
    const { succeeded, skipped } = await operation(started.id)
    expect(succeeded + byHand).toBe(150)
    expect(skipped).toBe(byHand)
    const rows = await journaled(ids, 'job_replay')
    expect(new Set(rows.map((row) => row.job_id)).size).toBe(150)
    expect(rows).toHaveLength(150)
  })
})

describe('an operation', () => {
  test('I06: goes on where it stopped when its connection dies in the middle of a batch', async () => {
    const ids = await jobsIn('dlq', 250)
    const { operation: started } = await call('replayJobs', { select: { filter: { kind: ['echo'] } } })
    const first = runner()
    expect((await first.runOnce())!.succeeded).toBe(100)
    // The second batch waits for a job that somebody holds, and dies there.
    const holder = await api.pool.connect()
    await holder.query('begin')
    await holder.query('select from mdm.aa_job where id = $1 for update', [ids[150]])
    await until(async () => {
      const [due] = await api.sql<{ due: boolean }>(
        'select bool_and(next_at <= clock_timestamp()) as due from mdm.aa_bulk_operation where finished_at is null',
      )
      return due!.due
    }, 'the next batch is due')
    const dying = first.runOnce().catch((error: Error) => error)
    await until(
      async () =>
        (
          await api.sql(
            `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and application_name like '%commit'`,
          )
        ).length,
      'the waiting batch was ended',
    )
    expect(await dying).toBeInstanceOf(Error)
    expect(await operation(started.id)).toMatchObject({ processed: 100, succeeded: 100 })
    await holder.query('rollback')
    holder.release()
    await runAll()
    expect(await operation(started.id)).toMatchObject({ status: 'COMPLETED', succeeded: 250, skipped: 0 })
    expect(await journaled(ids, 'job_replay')).toHaveLength(250)
  })

  test('I06: goes on in another process when its own is killed', { timeout: 40_000 }, async () => {
    const ids = await jobsIn('dlq', 60)
    const { operation: started } = await call('stopJobs', {
      select: { filter: { kind: ['echo'] } },
      ratePerSecond: 40,
    })
    const dataDirs = await Promise.all([1, 2].map(() => mkdtemp(join(tmpdir(), 'stellwerk-bulk-'))))
    const begin = (dataDir: string) =>
      startService({
        dataDir,
        settings: { DATABASE_URL: api.url, STELLWERK_ENV: 'development', STELLWERK_WORKERS: '0' },
      })
    const first = begin(dataDirs[0]!)
    await until(async () => (await operation(started.id)).processed > 0, 'the first process works on it', 20_000)
    first.signal('SIGKILL')
    await first.exited
    const { processed } = await operation(started.id)
    expect(processed).toBeLessThan(60)
    const second = begin(dataDirs[1]!)
    await until(async () => (await operation(started.id)).status === 'COMPLETED', 'another process ends it', 20_000)
    await second.stop()
    expect(await operation(started.id)).toMatchObject({ succeeded: 60, skipped: 0 })
    expect(await journaled(ids, 'job_stop')).toHaveLength(60)
    await Promise.all(dataDirs.map((dir) => rm(dir, { recursive: true })))
  })

  test('E02: that overlaps another takes what that one left', async () => {
    const ids = await jobsIn('dlq', 250)
    const select = { filter: { kind: ['echo'] } }
    const [first, second] = await Promise.all([1, 2].map(() => call('discardJobs', { select, expectedCount: 250 })))
    const running = [runner(), runner()]
    for (const each of running) each.start()
    const ends = await until(async () => {
      const both = await Promise.all([first, second].map((each) => operation(each.operation.id)))
      return both.every(({ status }) => status === 'COMPLETED') && both
    }, 'both have ended')
    await Promise.all(running.map((each) => each.stop()))
    expect(ends.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(250)
    expect(ends.reduce((sum, { skipped }) => sum + skipped, 0)).toBe(250)
    expect(await journaled(ids, 'job_discard')).toHaveLength(250)
  })

  test('I06: keeps its rate', async () => {
    const ids = await jobsIn('dlq', 30)
    const { operation: started } = await call('replayJobs', {
      select: { filter: { kind: ['echo'] } },
      ratePerSecond: 40,
    })
    expect(started.ratePerSecond).toBe(40)
    await runAll()
    const rows = await journaled(ids, 'job_replay')
    const times = rows.map((row) => (row.at as Date).getTime()).toSorted((a, b) => a - b)
    // Thirty at 40 a second in tens: the third ten comes half a second after the first.
    expect(times.at(-1)! - times[0]!).toBeGreaterThanOrEqual(480)
    for (const [index, at] of times.entries())
      expect(times.filter((other) => other >= at && other < at + 250).length, String(index)).toBeLessThanOrEqual(20)
  })

  test('does not keep claims waiting', async () => {
    const ids = await jobsIn('pending', 3)
    await call('cancelJobs', { select: { ids: ids.slice(0, 2) } })
    const holder = await api.pool.connect()
    await holder.query('begin')
    await holder.query('select from mdm.aa_job where id = $1 for update', [ids[1]])
    const batch = runner().runOnce()
    await until(
      async () =>
        (await api.sql(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
          .length,
      'the batch holds its locks and waits',
    )
    const free = await api.sql('select id from mdm.aa_job where lane = 0 order by id for update skip locked')
    expect(free.map(({ id }) => id)).toEqual([ids[2]])
    await holder.query('rollback')
    holder.release()
    await batch
    expect(await statusOf(ids)).toEqual(['failed', 'failed', 'pending'])
  })

  test('is ended early on request; what is done stays done', async () => {
    const ids = await jobsIn('dlq', 8)
    const { operation: started } = await call('replayJobs', { select: { ids }, ratePerSecond: 4 })
    await runner().runOnce()
    expect(await cancelOperation(started.id)).toMatchObject({
      operation: { id: started.id, status: 'CANCELLED', processed: 1 },
      errors: [],
    })
    await runAll()
    expect(await statusOf(ids)).toEqual(['pending', ...Array(7).fill('dlq')])
    expect((await cancelOperation(started.id)).errors).toEqual([])
    expect(
      await api.sql(`select from mdm.aa_audit_log where action = 'bulk_end' and payload->>'operation' = $1`, [
        started.id.slice('bulk_'.length),
      ]),
    ).toHaveLength(1)
    const { operation: other } = await call('stopJobs', { select: { ids: ids.slice(0, 1) } })
    await runAll()
    expect(await cancelOperation(other.id)).toMatchObject({ errors: [{ code: 'INVALID', path: ['id'] }] })
    expect(await cancelOperation(`bulk_${crypto.randomUUID()}`)).toMatchObject({
      operation: null,
      errors: [{ code: 'NOT_FOUND' }],
    })
  })

  test('is one for each key, and goes on with it after a fault', async () => {
    const ids = await jobsIn('dlq', 3)
    await api.sql(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'secret detail' using errcode = '23514'; end $$`,
    )
    await api.sql(
      `create trigger refuse before update on mdm.aa_job for each row when (old.id = '${ids[1]}') execute function refuse()`,
    )
    const input = { select: { ids }, idempotencyKey: 'once', ratePerSecond: 4 }
    const [{ operation: started }, { operation: again }] = await Promise.all([
      call('replayJobs', input),
      call('replayJobs', input),
    ])
    expect(again.id).toBe(started.id)
    expect((await call('replayJobs', { ...input, limit: 2 })).errors).toMatchObject([
      { code: 'INVALID', path: ['idempotencyKey'] },
    ])
    const other = { ...admin, principal: { ...admin.principal, id: 'bob' } }
    const { operation: another } = await call('replayJobs', { ...input, select: { ids: [crypto.randomUUID()] } }, other)
    expect(another.id).not.toBe(started.id)
    await runAll()
    const faulted = await operation(started.id)
    expect(faulted).toMatchObject({ status: 'FAULTED', processed: 1, error: expect.stringContaining('23514') })
    expect(faulted.error).not.toContain('secret')
    expect(told.filter(({ type }) => type === 'loop:failed')).toHaveLength(1)
    await api.sql('drop trigger refuse on mdm.aa_job')
    expect((await call('replayJobs', input)).operation).toMatchObject({ id: started.id, status: 'QUEUED', error: null })
    await runAll()
    expect(await operation(started.id)).toMatchObject({ status: 'COMPLETED', succeeded: 3 })
    const facts = { action: 'replay', matched: 3 }
    expect(toldOf(started.id)).toMatchObject([
      { type: 'bulk:started', ratePerSecond: 4, by: 'user:ada', ...facts },
      { type: 'bulk:batch', succeeded: 1, skipped: 0 },
      { type: 'bulk:ended', status: 'faulted', succeeded: 1, skipped: 0, ...facts },
      { type: 'bulk:started', ...facts },
      { type: 'bulk:batch', succeeded: 1, skipped: 0 },
      { type: 'bulk:batch', succeeded: 1, skipped: 0 },
      { type: 'bulk:ended', status: 'completed', succeeded: 3, skipped: 0, ...facts },
    ])
    expect((await call('replayJobs', input)).operation).toMatchObject({ id: started.id, status: 'COMPLETED' })
    expect(await journaled(ids, 'job_replay')).toHaveLength(3)
  })

  test("lets a kind's own rows follow each job; where they cannot, the job stays", async () => {
    const followed = await jobsIn('pending', 2, { kind: 'resize_image' })
    const plain = await jobsIn('pending', 2)
    const ids = [...followed, ...plain]
    const { operation: first } = await call('stopJobs', { select: { ids }, reason: 'enough' })
    await runAll()
    expect(await operation(first.id)).toMatchObject({ succeeded: 4, skipped: 0 })
    expect(await api.sql('select * from followed where job_id = any ($1)', [ids])).toEqual(
      followed.map((id) => ({ job_id: id, move: 'stop', error: 'enough' })),
    )
    followFails = true
    const { operation: second } = await call('replayJobs', { select: { ids } })
    await runAll()
    expect(await operation(second.id)).toMatchObject({ status: 'COMPLETED', succeeded: 2, skipped: 2 })
    expect(await statusOf(ids)).toEqual(['failed', 'failed', 'pending', 'pending'])
    expect(await journaled(followed, 'job_replay')).toEqual([])
    expect(told.filter(({ type }) => type === 'loop:failed')).toHaveLength(2)
  })

  test('is kept as long as the journal', async () => {
    const keep = async (months: number) => (await pruneBulkOperations(api.pool, months, 10))[0]!.deleted
    while ((await keep(0)) > 0);
    await jobsIn('dlq')
    const { operation: ended } = await call('replayJobs', { select: { filter: { kind: ['echo'] } } })
    expect(await keep(0)).toBe(0)
    await runAll()
    expect(await keep(1)).toBe(0)
    await api.sql(`update mdm.aa_bulk_operation set finished_at = now() - interval '32 days'`)
    expect(await keep(1)).toBe(1)
    expect(await operation(ended.id)).toBeNull()
  })

  test('I06: is watched from its present state to its end', async () => {
    const ids = await jobsIn('dlq', 6)
    const { operation: started } = await call('replayJobs', { select: { ids }, ratePerSecond: 12 })
    const stream = await watch(started.id)
    const states = [(await next(stream))!]
    const running = runner()
    running.start()
    for (let state = await next(stream); state !== undefined; state = await next(stream)) states.push(state)
    await running.stop()
    expect(states[0]).toEqual({ status: 'QUEUED', processed: 0, matched: 6, succeeded: 0, skipped: 0 })
    expect(states.at(-1)).toEqual({ status: 'COMPLETED', processed: 6, matched: 6, succeeded: 6, skipped: 0 })
    const progress = states.map(({ processed }) => processed)
    expect(progress).toEqual([...new Set(progress)].toSorted((a, b) => a - b))
    // One that has ended is told once.
    const late = await watch(started.id)
    expect(await next(late)).toMatchObject({ status: 'COMPLETED' })
    expect(await next(late)).toBeUndefined()
    expect(api.deps.relay.openStreams()).toBe(0)
  })
})

describe('tenants', () => {
  const ofAcme = () => caller({ tenantIds: [acme] })
  const ofBoth = () => caller({ tenantIds: [acme, globex] })
  const ofOther = () => ({ ...caller({ tenantIds: [globex] }), principal: { ...admin.principal, id: 'eve' } })

  test('only the jobs of the caller are taken', async () => {
    const [mine] = await jobsIn('pending')
    const [theirs] = await jobsIn('pending', 1, { tenantId: globex })
    for (const select of [
      { ids: [mine, theirs] },
      { filter: { kind: ['echo'] } },
      { filter: { tenantId: ['acme', 'globex'] } },
    ]) {
      const answer = await call('stopJobs', { select, dryRun: true }, ofAcme())
      expect(answer.preview).toMatchObject({ matched: { count: 1 }, rows: [{ tenant: { key: 'acme' } }] })
    }
    await call('stopJobs', { select: { ids: [mine, theirs] } }, ofAcme())
    await runAll()
    expect(await statusOf([mine!, theirs!])).toEqual(['failed', 'pending'])
  })

  test('an operation is seen by those whose tenants it is about, and by nobody else', async () => {
    const [mine] = await jobsIn('pending')
    const [theirs] = await jobsIn('pending', 1, { tenantId: globex })
    const { operation: ofOne } = await call('stopJobs', { select: { ids: [mine] } })
    const { operation: ofTwo } = await call('stopJobs', { select: { ids: [mine, theirs] } })
    const seenBy = async (who: Caller) =>
      (await api.run('{ bulkOperations(first: 2) { nodes { id } } }', {}, who)).data.bulkOperations.nodes.map(
        (each: { id: string }) => each.id,
      )
    expect(await seenBy(admin)).toEqual([ofTwo.id, ofOne.id])
    expect(await seenBy(ofBoth())).toEqual(expect.arrayContaining([ofTwo.id, ofOne.id]))
    expect(await seenBy(ofAcme())).toContain(ofOne.id)
    expect(await seenBy(ofAcme())).not.toContain(ofTwo.id)
    expect(await seenBy(ofOther())).toEqual([])
    const node = async (id: string, who: Caller) =>
      (await api.run('query($id: ID!) { node(id: $id) { id } }', { id }, who)).data.node
    expect(await node(ofOne.id, ofAcme())).toEqual({ id: ofOne.id })
    expect(await node(ofOne.id, ofOther())).toBeNull()
    expect((await cancelOperation(ofOne.id, ofOther())).errors).toMatchObject([{ code: 'NOT_FOUND' }])
    const refused = await api.subscribe(
      'subscription($id: ID!) { bulkOperation(id: $id) { id } }',
      { id: ofOne.id },
      ofOther(),
    )
    expect('errors' in refused && codeOf({ data: null, errors: refused.errors! })).toBe('NOT_FOUND')
  })
})

interface Progress {
  readonly status: string
  readonly processed: number
}
type Watched = AsyncGenerator<{ data?: { bulkOperation: Progress } | null }>

async function watch(id: string): Promise<Watched> {
  const document = 'subscription($id: ID!) { bulkOperation(id: $id) { status processed matched succeeded skipped } }'
  return (await api.subscribe(document, { id })) as Watched
}

async function next(stream: Watched): Promise<Progress | undefined> {
  const { value, done } = await stream.next()
  return done === true ? undefined : { ...value.data!.bulkOperation }
}
