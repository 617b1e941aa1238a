import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { allowedActions, type JobAction } from '../../src/jobs/allowed-actions.ts'
import { jobStatuses, type JobStatus } from '../../src/jobs/lifecycle.ts'
import type { Scope } from '../../src/jobs/permissions.ts'
import type { FollowUp } from '../../src/resolvers/follow-up.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

const followed: { kind: string; move: string; error: string | null }[] = []
let followUpFails = false
const follow: FollowUp = async (tx, job, { move, error }) => {
  await tx.query('insert into followed (job_id, move) values ($1, $2)', [job.id, move])
  if (followUpFails) throw new Error('no')
  followed.push({ kind: job.kind, move, error })
}

let api: TestApi
let acme: string
let globex: string
beforeAll(async () => {
  api = await testApi({ followUps: new Map([['resize_image', follow]]) })
  acme = await api.tenant('acme')
  globex = await api.tenant('globex')
  await api.sql('create table followed (job_id uuid, move text)')
})
afterAll(() => api.stop())
beforeEach(() => {
  followed.length = 0
  followUpFails = false
})

/** How each mutation is called, and from where it leads where. */
const moves: Readonly<
  Record<
    JobAction,
    {
      mutation: string
      type: string
      input?: object
      to: Partial<Record<JobStatus, JobStatus | 'deleted'>>
      journal: Partial<Record<JobStatus, string>>
    }
  >
> = {
  CANCEL: {
    mutation: 'cancelJob',
    type: 'JobActionInput',
    to: { pending: 'failed', running: 'running' },
    journal: { pending: 'job_cancel', running: 'job_cancel_requested' },
  },
  STOP: {
    mutation: 'stopJob',
    type: 'JobActionInput',
    to: { pending: 'failed', dlq: 'failed', running: 'running' },
    journal: { pending: 'job_stop', dlq: 'job_stop', running: 'job_stop_requested' },
  },
  REPLAY: {
    mutation: 'replayJob',
    type: 'ReplayJobInput',
    to: { dlq: 'pending', failed: 'pending' },
    journal: { dlq: 'job_replay', failed: 'job_replay' },
  },
  DISCARD: {
    mutation: 'discardJob',
    type: 'JobActionInput',
    to: { pending: 'deleted', dlq: 'deleted', failed: 'deleted' },
    journal: { pending: 'job_discard', dlq: 'job_discard', failed: 'job_discard' },
  },
  RUN_NOW: {
    mutation: 'runJobNow',
    type: 'JobActionInput',
    to: { pending: 'pending' },
    journal: { pending: 'job_rescheduled' },
  },
  RESCHEDULE: {
    mutation: 'rescheduleJob',
    type: 'RescheduleJobInput',
    input: { schedule: { after: 'PT1H' } },
    to: { pending: 'pending' },
    journal: { pending: 'job_rescheduled' },
  },
  REPRIORITIZE: {
    mutation: 'reprioritizeJob',
    type: 'ReprioritizeJobInput',
    input: { priority: 7 },
    to: { pending: 'pending' },
    journal: { pending: 'job_reprioritized' },
  },
}
const actions = Object.keys(moves) as JobAction[]
const takesReason = (action: JobAction) => action !== 'RESCHEDULE' && action !== 'REPRIORITIZE'

const errors =
  'errors { __typename code message path ... on ConflictError { job { id status revision } } ... on NotFoundError { id } }'

/** Calls one of the mutations; answers its payload. */
async function call(action: JobAction, input: object, as = admin) {
  const { mutation, type, input: more = {} } = moves[action]
  const shape =
    action === 'DISCARD'
      ? 'discardedJobId auditEntry { id action reason snapshot jobId requestId actor { id kind } }'
      : 'job { id status revision attemptCount priority availableAt payloadText stop { cause reason by { id } } allowedActions }'
  const answer = await api.run(
    `mutation($input: ${type}!) { ${mutation}(input: $input) { ${shape} ${errors} } }`,
    { input: { ...more, ...input } },
    as,
  )
  if (answer.data === null) throw Object.assign(new Error(answer.errors[0]!.message), { code: codeOf(answer) })
  return answer.data[mutation]
}

/** A job in a status, made by the moves that lead there. */
async function jobIn(
  status: JobStatus,
  { tenantId = acme, kind = 'echo', payload = '{"n": 12345678901234567890}' } = {},
) {
  const [row] = await api.sql<{ id: string }>(
    `insert into mdm.aa_job (tenant_id, job_kind, payload, revision, max_attempts) values ($1, $2, $3::jsonb, 1, 3) returning id`,
    [tenantId, kind, payload],
  )
  const { id } = row!
  if (status !== 'pending') await api.sql(`update mdm.aa_job set status = 'running', attempts = 1 where id = $1`, [id])
  if (status !== 'pending' && status !== 'running') {
    await api.sql(
      `update mdm.aa_job set status = $2::mdm.job_status, last_error = case when $2::text <> 'done' then 'Error: broken' end where id = $1`,
      [id, status],
    )
  }
  const job = await read(id)
  return { id, revision: job!.revision as number }
}

async function read(id: string) {
  const [job] = await api.sql('select * from mdm.aa_job where id = $1', [id])
  return job
}

async function journal(id: string) {
  return api.sql('select * from mdm.aa_audit_log where job_id = $1 order by revision desc, id desc', [id])
}

describe.each(actions)('%s', (action) => {
  const { to, journal: rows } = moves[action]
  const starts = (status: JobStatus) => status in to
  const input = (id: string) => ({ id: `job_${id}`, ...(takesReason(action) && { reason: 'because' }) })

  test.each(jobStatuses.filter(starts))('from %s', async (from) => {
    const { id, revision } = await jobIn(from)
    const answer = await call(action, input(id))
    expect(answer.errors).toEqual([])
    expect((await journal(id))[0]).toMatchObject({
      action: rows[from],
      revision: revision + 1,
      tenant_id: acme,
      job_kind: 'echo',
      actor_principal_id: 'user:ada',
      reason: takesReason(action) ? 'because' : null,
      request_id: expect.stringMatching(/^request-/),
    })
    const told = { id: `job_${id}`, status: to[from]!.toUpperCase(), revision: revision + 1 }
    const deletes = to[from] === 'deleted'
    expect(deletes ? answer : answer.job).toMatchObject(deletes ? { discardedJobId: `job_${id}` } : told)
    const row = await read(id)
    expect(row && { status: row.status, revision: row.revision }).toEqual(
      deletes ? undefined : { status: to[from], revision: revision + 1 },
    )
  })

  test.each(jobStatuses.filter((status) => !starts(status)))('not from %s', async (from) => {
    const { id, revision } = await jobIn(from)
    const before = await journal(id)
    expect((await call(action, input(id))).errors).toMatchObject([
      { __typename: 'ConflictError', code: 'CONFLICT', path: ['id'], job: { status: from.toUpperCase(), revision } },
    ])
    expect(await journal(id)).toEqual(before)
    expect((await read(id))!.revision).toBe(revision)
  })

  test('is offered exactly where it can be done', () => {
    for (const status of jobStatuses)
      expect(allowedActions(status, admin).includes(action), status).toBe(status in moves[action].to)
  })

  test('needs its scope', async () => {
    const { id } = await jobIn('pending')
    const scope: Scope = ['CANCEL', 'RUN_NOW', 'RESCHEDULE', 'REPRIORITIZE'].includes(action)
      ? 'CONTROL_JOBS'
      : 'MANAGE_METADATA'
    const others = (
      [
        'READ_JOBS',
        'READ_PAYLOADS',
        'ENQUEUE_JOBS',
        'CONTROL_JOBS',
        'MANAGE_METADATA',
        'READ_AUDIT',
        'OPERATE_PLATFORM',
      ] as const
    ).filter((each) => each !== scope)
    await expect(call(action, { id }, caller({ tenantIds: 'all', may: others }))).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect((await read(id))!.revision).toBe(1)
  })

  test("finds no other tenant's job", async () => {
    const { id } = await jobIn('pending', { tenantId: globex })
    const answer = await call(action, { id: `job_${id}` }, caller({ tenantIds: [acme] }))
    expect(answer.errors).toMatchObject([
      { __typename: 'NotFoundError', code: 'NOT_FOUND', id: `job_${id}`, path: ['id'] },
    ])
    expect((await call(action, { id: 'nonsense' })).errors).toMatchObject([{ code: 'NOT_FOUND', id: 'nonsense' }])
    expect((await read(id))!.revision).toBe(1)
  })

  test('at another revision shows the job as it is', async () => {
    const from = Object.keys(moves[action].to)[0] as JobStatus
    const { id, revision } = await jobIn(from)
    const answer = await call(action, { id, expectedRevision: revision + 5 })
    expect(answer.errors).toMatchObject([
      { code: 'CONFLICT', path: ['expectedRevision'], job: { revision, status: from.toUpperCase() } },
    ])
    expect((await call(action, { id, expectedRevision: revision })).errors).toEqual([])
  })

  test('by 50 at once with one revision happens once', async () => {
    const from = Object.keys(moves[action].to)[0] as JobStatus
    const { id, revision } = await jobIn(from)
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => call(action, { id, expectedRevision: revision })),
    )
    expect(answers.filter((answer) => answer.errors.length === 0)).toHaveLength(1)
    const rows = (await journal(id)).filter((row) => row.revision > revision)
    expect(rows.map((row) => row.action)).toEqual([moves[action].journal[from]])
    for (const {
      errors: [error],
    } of answers.filter((answer) => answer.errors.length > 0)) {
      expect(error).toMatchObject(action === 'DISCARD' ? {} : { code: 'CONFLICT', job: { revision: revision + 1 } })
    }
  })
})

test.each(['pending', 'dlq', 'failed'] as const)('discard from %s keeps the whole job, exactly', async (from) => {
  const { id } = await jobIn(from)
  const answer = await call('DISCARD', { id, reason: 'because' })
  const [kept] = await api.sql(
    `select payload #>> '{snapshot,payload,n}' as n, payload -> 'snapshot' ->> 'status' as status from mdm.aa_audit_log where job_id = $1 and action = 'job_discard'`,
    [id],
  )
  expect(kept).toEqual({ n: '12345678901234567890', status: from })
  expect(JSON.stringify(answer.auditEntry.snapshot)).toContain('"n":12345678901234567890')
  expect(answer.auditEntry).toMatchObject({
    action: 'JOB_DISCARD',
    jobId: `job_${id}`,
    reason: 'because',
    actor: { id: 'ada', kind: 'USER' },
  })
})

describe('50 admins at one job', () => {
  test('with one revision and different wishes: one outcome, one row, 49 conflicts', async () => {
    const { id, revision } = await jobIn('dlq')
    const wishes: JobAction[] = ['REPLAY', 'STOP', 'REPLAY', 'STOP', 'REPLAY']
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => call(wishes[i % 5]!, { id, expectedRevision: revision })),
    )
    const conflicts = answers.flatMap((answer) => answer.errors)
    expect(conflicts).toHaveLength(49)
    expect(conflicts.every((error: { job: { revision: number } }) => error.job.revision === revision + 1)).toBe(true)
    expect((await journal(id)).filter((row) => row.revision > revision)).toHaveLength(1)
  })

  test('without a revision every answer matches the journal', async () => {
    const { id, revision } = await jobIn('dlq')
    const wishes: JobAction[] = ['REPLAY', 'STOP', 'CANCEL', 'REPRIORITIZE', 'RUN_NOW']
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => call(wishes[i % 5]!, { id })))
    const rows = (await journal(id)).filter((row) => row.revision > revision).toReversed()
    const told = answers
      .filter((answer) => answer.errors.length === 0)
      .map((answer) => answer.job.revision)
      .toSorted((a, b) => a - b)
    expect(told).toEqual(rows.map((row) => row.revision))
    expect(told).toEqual(Array.from({ length: told.length }, (_, i) => revision + 1 + i))
    let status: JobStatus = 'dlq'
    for (const row of rows) {
      const [, move] = Object.entries(moves).find(([, each]) => each.journal[status] === row.action)!
      status = move.to[status] as JobStatus
    }
    expect((await read(id))!.status).toBe(status)
  })
})

describe('replay', () => {
  test('begins anew: attempts at zero, nothing of the end is left, the error is', async () => {
    const { id } = await jobIn('dlq')
    await call('STOP', { id, reason: 'broken for good' })
    await call('REPLAY', { id })
    expect(await read(id)).toMatchObject({
      status: 'pending',
      attempts: 0,
      lane: 0,
      completed_at: null,
      dead_at: null,
      claimed_at: null,
      claimed_by: null,
      result: null,
      progress: null,
      stop_requested_at: null,
      stop_cause: null,
      stop_requested_by: null,
      stop_reason: null,
      last_error: 'broken for good',
      runs: 1,
    })
  })

  test('at another time waits for it', async () => {
    const { id } = await jobIn('dlq')
    const { job } = await call('REPLAY', { id, schedule: { after: 'PT1H' } })
    expect(Date.parse(job.availableAt) - Date.now()).toBeGreaterThan(3_590_000)
    expect((await read(id))!.lane).toBe(1)
  })

  test('with a corrected payload keeps the old one, exactly, and its numbers beyond 2^53', async () => {
    const { id } = await jobIn('dlq')
    const { job } = await call('REPLAY', { id, payloadText: '{"n": 98765432109876543210}' })
    expect(job.payloadText).toBe('{"n": 98765432109876543210}')
    const [row] = await api.sql(
      `select payload #>> '{old_payload,n}' as n from mdm.aa_audit_log where job_id = $1 and action = 'job_replay'`,
      [id],
    )
    expect(row!.n).toBe('12345678901234567890')
  })

  test.each([
    ['a payload that the kind refuses', { payload: { url: 'none' } }, ['payload'], '/url'],
    ['a text that the kind refuses', { payloadText: '{"url": 7}' }, ['payloadText'], '/url'],
    ['what is no JSON', { payloadText: '{' }, ['payloadText'], null],
    ['both forms at once', { payload: {}, payloadText: '{}' }, ['payloadText'], null],
    ['a text of more than 64 KiB', { payloadText: `{"url": "${'x'.repeat(70_000)}"}` }, ['payloadText'], null],
  ])('refuses %s', async (_, input, path, pointer) => {
    const { id, revision } = await jobIn('dlq', { kind: 'resize_image', payload: '{"url": "https://example.org/"}' })
    const answer = await api.run(
      'mutation($input: ReplayJobInput!) { replayJob(input: $input) { errors { __typename path ... on ValidationError { pointer } } } }',
      { input: { id, ...input } },
    )
    expect(answer.data.replayJob.errors).toMatchObject([{ __typename: 'ValidationError', path, pointer }])
    expect((await read(id))!.revision).toBe(revision)
  })
})

describe('stop and cancel of a running job', () => {
  test('leave its lease to the worker, and carry the facts of the claim', async () => {
    const { id, revision } = await jobIn('running')
    const before = await read(id)
    const { job } = await call('STOP', { id, reason: 'enough' })
    expect(job).toMatchObject({ status: 'RUNNING', stop: { cause: 'STOPPED', reason: 'enough', by: { id: 'ada' } } })
    const [row] = await journal(id)
    expect((await read(id))!.lease).toBe(before!.lease)
    expect(row).toMatchObject({
      action: 'job_stop_requested',
      revision: revision + 1,
      claim_revision: null,
      attempt: 1,
      run_ms: expect.any(Number),
    })
  })

  test('are told to the workers', async () => {
    let told = 0
    const off = api.deps.wakeup.on('control', () => (told += 1))
    const { id } = await jobIn('running')
    await call('CANCEL', { id })
    off()
    expect(told).toBe(1)
  })

  test('a standing request is not made again; a stop outranks a cancel', async () => {
    const { id, revision } = await jobIn('running')
    expect((await call('CANCEL', { id })).errors).toEqual([])
    expect((await call('CANCEL', { id })).errors).toMatchObject([{ code: 'CONFLICT', job: { revision: revision + 1 } }])
    expect((await call('STOP', { id })).job).toMatchObject({ revision: revision + 2, stop: { cause: 'STOPPED' } })
    expect((await call('STOP', { id })).errors).toMatchObject([{ code: 'CONFLICT' }])
    expect((await call('CANCEL', { id })).errors).toMatchObject([{ code: 'CONFLICT' }])
    expect((await journal(id))[0]).toMatchObject({ action: 'job_stop_requested', claim_revision: revision })
  })
})

test('the history of a job that was asked to end and then did tells its claim once', async () => {
  const { id } = await jobIn('running')
  await call('CANCEL', { id })
  await call('STOP', { id })
  await api.sql(`update mdm.aa_job set status = 'failed' where id = $1`, [id])
  const { data } = await api.run(
    'query($id: ID!) { job(id: $id) { events { nodes { type revision } } attempts { nodes { outcome } } } }',
    { id },
  )
  const types = data.job.events.nodes.map(
    (event: { type: string; revision: number }) => `${event.revision} ${event.type}`,
  )
  expect(types).toEqual(['2 CLAIMED', '3 CANCEL_REQUESTED', '4 CANCEL_REQUESTED', '5 STOPPED'])
  expect(data.job.attempts.nodes).toEqual([{ outcome: 'STOPPED' }])
})

describe('time and priority', () => {
  test('run now keeps the place of what is due, and makes due what waits', async () => {
    const { id } = await jobIn('pending')
    const due = (await read(id))!.available_at
    await call('RUN_NOW', { id })
    expect((await read(id))!.available_at).toEqual(due)
    await call('RESCHEDULE', { id, schedule: { after: 'PT1H' } })
    expect((await read(id))!.lane).toBe(1)
    await call('RUN_NOW', { id })
    expect((await read(id))!.lane).toBe(0)
    expect((await read(id))!.available_at.getTime()).toBeLessThanOrEqual(Date.now() + 1_000)
  })

  test('the journal says from where to where', async () => {
    const { id } = await jobIn('pending')
    await call('REPRIORITIZE', { id })
    await call('RESCHEDULE', { id, schedule: { at: '2026-12-24T12:00:00Z' } })
    const [rescheduled, reprioritized] = await journal(id)
    expect(reprioritized!.payload).toEqual({ priority: 7, from_priority: 100 })
    expect(Date.parse(rescheduled!.payload.available_at)).toBe(Date.parse('2026-12-24T12:00:00Z'))
  })

  test.each([
    ['REPRIORITIZE', ['priority'], { priority: 1_001 }],
    ['REPRIORITIZE', ['priority'], { priority: -1 }],
    ['RESCHEDULE', ['schedule'], { schedule: { after: 'P400D' } }],
    ['STOP', ['reason'], { reason: 'x'.repeat(501) }],
    ['STOP', ['reason'], { reason: 'a\0b' }],
  ] as const)('%s refuses what is out of range in %j', async (action, path, input) => {
    const { id } = await jobIn('pending')
    expect((await call(action, { id, ...input })).errors).toMatchObject([
      { __typename: 'ValidationError', code: 'INVALID', path },
    ])
  })
})

describe("a kind's own rows", () => {
  const own = { kind: 'resize_image', payload: '{"url": "https://example.org/"}' }
  test('follow each move, in its transaction', async () => {
    const { id } = await jobIn('dlq', own)
    await call('STOP', { id, reason: 'broken' })
    await call('REPLAY', { id })
    await call('CANCEL', { id })
    await call('DISCARD', { id })
    expect(followed.map(({ move }) => move)).toEqual(['stop', 'replay', 'cancel', 'discard'])
    expect(followed[0]!.error).toBe('broken')
    expect(await api.sql('select move from followed where job_id = $1', [id])).toHaveLength(4)
  })
  test('that cannot follow keep the job where it is', async () => {
    const { id, revision } = await jobIn('dlq', own)
    followUpFails = true
    const answer = await call('DISCARD', { id })
    expect(answer.errors).toMatchObject([{ code: 'CONFLICT', job: { revision } }])
    expect(answer.errors[0].message).not.toMatch(/\bno\b\.?$/)
    expect(await api.sql('select move from followed where job_id = $1', [id])).toEqual([])
    expect(await read(id)).toMatchObject({ status: 'dlq', revision })
  })
})
