import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Scope } from '../../src/jobs/permissions.ts'
import type { FollowUp } from '../../src/resolvers/follow-up.ts'
import { registerInstance } from '../../src/sql/register-instance.ts'
import { registerWorker } from '../../src/sql/register-worker.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

const follow: FollowUp = async (tx, job, { move }) => {
  if (job.priority === 999) throw new Error('no')
  await tx.query('insert into followed (job_id, move) values ($1, $2)', [job.id, move])
}

let api: TestApi
let acme: string
let globex: string
let signals: string[] = []
const offs: (() => void)[] = []
beforeAll(async () => {
  api = await testApi({ followUps: new Map([['resize_image', follow]]) })
  acme = await api.tenant('acme')
  globex = await api.tenant('globex')
  await api.sql('create table followed (job_id uuid, move text)')
  for (const topic of ['control', 'work', 'journal'] as const)
    offs.push(api.deps.wakeup.on(topic, () => signals.push(topic)))
})
afterAll(() => api.stop())
afterEach(async () => {
  signals = []
  await api.sql('delete from mdm.aa_queue_pause')
  await api.sql('delete from mdm.aa_concurrency_limit')
})

const error = 'errors { __typename code message path ... on NotFoundError { id } }'
const shapes = {
  pauseQueue: 'pause { id kind { name } tenant { key } since until reason by { id kind } }',
  resumeQueue: 'pause { id reason }',
  setRateLimit: 'rateLimit { tenant { key } kind { name } limit { rps burst } overridden hitsPerMinute }',
  setTenantWeight: 'tenant { key weight }',
  setConcurrencyLimit: 'concurrencyLimit { kind { name } tenant { key } max running }',
  setTenantActive: 'tenant { key active weight }',
}
type Mutation = keyof typeof shapes

async function call(mutation: Mutation, input: object, as = admin) {
  const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input`
  const answer = await api.run(
    `mutation($input: ${type}!) { ${mutation}(input: $input) { ${shapes[mutation]} ${error} } }`,
    { input },
    as,
  )
  if (answer.data === null) throw Object.assign(new Error(answer.errors[0]!.message), { code: codeOf(answer) })
  return answer.data[mutation]
}

async function lastEntry() {
  const [row] = await api.sql(
    'select a.*, t.tenant_key from mdm.aa_audit_log a join mdm.aa_tenant t on t.id = a.tenant_id order by a.id desc limit 1',
  )
  return row!
}

async function pending(
  count: number,
  given: { tenantId?: string; kind?: string; later?: boolean; priority?: number } = {},
): Promise<string[]> {
  const rows = await api.sql<{ id: string }>(
    `insert into mdm.aa_job (tenant_id, job_kind, payload, available_at, priority)
     select $1, $2, '{"url": "https://example.org/"}', now() + case when $3 then interval '1 hour' else interval '0' end, $5 from generate_series(1, $4) returning id`,
    [given.tenantId ?? acme, given.kind ?? 'echo', given.later ?? false, count, given.priority ?? 100],
  )
  return rows.map(({ id }) => id)
}

describe('pauses', () => {
  test('begin, change and end; each is journaled and told', async () => {
    const { pause, errors } = await call('pauseQueue', { queue: { kind: 'echo', tenantId: 'acme' }, reason: 'flood' })
    expect(errors).toEqual([])
    expect(pause).toMatchObject({
      kind: { name: 'echo' },
      tenant: { key: 'acme' },
      reason: 'flood',
      until: null,
      by: { id: 'ada', kind: 'USER' },
    })
    expect(await lastEntry()).toMatchObject({
      action: 'queue_pause',
      tenant_key: 'acme',
      job_kind: 'echo',
      reason: 'flood',
      actor_principal_id: 'user:ada',
      request_id: expect.stringMatching(/^request-/),
    })
    expect(signals).toContain('control')
    const again = await call('pauseQueue', { queue: { kind: 'echo', tenantId: 'acme' }, until: '2030-01-01T00:00:00Z' })
    expect(again.pause).toMatchObject({
      id: pause.id,
      since: pause.since,
      until: '2030-01-01T00:00:00.000Z',
      reason: null,
    })
    expect(await api.sql('select from mdm.aa_queue_pause')).toHaveLength(1)
    expect((await api.run('query($id: ID!) { node(id: $id) { __typename id } }', { id: pause.id })).data.node).toEqual({
      __typename: 'QueuePause',
      id: pause.id,
    })
    const seen = await api.run(
      '{ tenant(id: "acme") { pauses { id } } jobKind(name: "echo") { pauses { id } } other: tenant(id: "globex") { pauses { id } } }',
    )
    expect(seen.data).toEqual({
      tenant: { pauses: [{ id: pause.id }] },
      jobKind: { pauses: [{ id: pause.id }] },
      other: { pauses: [] },
    })
    expect((await call('resumeQueue', { queue: { kind: 'echo', tenantId: 'acme' } })).pause.id).toBe(pause.id)
    expect(await lastEntry()).toMatchObject({ action: 'queue_resume', tenant_key: 'acme' })
    expect(await api.sql('select from mdm.aa_queue_pause')).toEqual([])
  })

  test('of every tenant stand with the platform, and need OPERATE_PLATFORM', async () => {
    const steward = caller({ tenantIds: 'all', may: ['MANAGE_METADATA', 'READ_JOBS'] })
    await expect(call('pauseQueue', { queue: { kind: 'echo' } }, steward)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(call('resumeQueue', { queue: { kind: 'echo' } }, steward)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await call('pauseQueue', { queue: { kind: 'echo' } })
    expect(await lastEntry()).toMatchObject({ action: 'queue_pause', tenant_key: 'platform' })
    expect((await call('pauseQueue', { queue: { tenantId: 'acme' } }, steward)).errors).toEqual([])
  })

  test('that have run out are none, and begin anew', async () => {
    await call('pauseQueue', { queue: { kind: 'echo' } })
    await api.sql(`update mdm.aa_queue_pause set since = now() - interval '2 hours', until = now() - interval '1 hour'`)
    expect((await api.run('{ jobKind(name: "echo") { pauses { id } } }')).data.jobKind.pauses).toEqual([])
    expect((await call('resumeQueue', { queue: { kind: 'echo' } })).errors).toMatchObject([
      { code: 'NOT_FOUND', path: ['queue'] },
    ])
    const { pause } = await call('pauseQueue', { queue: { kind: 'echo' } })
    expect(Date.now() - Date.parse(pause.since)).toBeLessThan(60_000)
  })

  test('refuse what they cannot mean', async () => {
    expect((await call('pauseQueue', { queue: {} })).errors).toMatchObject([{ code: 'INVALID', path: ['queue'] }])
    expect((await call('pauseQueue', { queue: { kind: 'nothing' } })).errors).toMatchObject([
      { code: 'NOT_FOUND', path: ['queue', 'kind'], id: 'nothing' },
    ])
    expect(
      (await call('pauseQueue', { queue: { tenantId: 'globex' } }, caller({ tenantIds: [acme] }))).errors,
    ).toMatchObject([{ code: 'NOT_FOUND', path: ['queue', 'tenantId'], id: 'globex' }])
    expect(
      (await call('pauseQueue', { queue: { tenantId: 'acme' }, until: '2020-01-01T00:00:00Z' })).errors,
    ).toMatchObject([{ code: 'INVALID', path: ['until'] }])
    expect((await call('pauseQueue', { queue: { tenantId: 'acme' }, reason: 'x'.repeat(501) })).errors).toMatchObject([
      { code: 'INVALID', path: ['reason'] },
    ])
    expect(await api.sql('select from mdm.aa_queue_pause')).toEqual([])
  })

  test('by 20 at once are one', async () => {
    await Promise.all(Array.from({ length: 20 }, () => call('pauseQueue', { queue: { tenantId: 'acme' } })))
    expect(await api.sql('select from mdm.aa_queue_pause')).toHaveLength(1)
  })
})

describe('rate limits', () => {
  test('are set and reset; the other kinds keep theirs', async () => {
    const set = await call('setRateLimit', { tenantId: 'acme', kind: 'echo', limit: { rps: 2.5, burst: 4 } })
    expect(set.rateLimit).toEqual({
      tenant: { key: 'acme' },
      kind: { name: 'echo' },
      limit: { rps: 2.5, burst: 4 },
      overridden: true,
      hitsPerMinute: 0,
    })
    expect(await lastEntry()).toMatchObject({
      action: 'rate_limit_set',
      tenant_key: 'acme',
      payload: { kind: 'echo', from: null, to: { rps: 2.5, burst: 4 } },
    })
    expect(signals).toContain('control')
    await call('setRateLimit', { tenantId: 'acme', kind: 'email_send', limit: { rps: 1, burst: 1 } })
    const back = await call('setRateLimit', { tenantId: 'acme', kind: 'email_send', limit: null })
    expect(back.rateLimit).toMatchObject({ limit: { rps: 10, burst: 20 }, overridden: false })
    expect(await lastEntry()).toMatchObject({ payload: { from: { rps: 1, burst: 1 }, to: null } })
    const { data } = await api.run('{ tenant(id: "acme") { rateLimits { kind { name } limit { rps } overridden } } }')
    expect(data.tenant.rateLimits).toContainEqual({ kind: { name: 'echo' }, limit: { rps: 2.5 }, overridden: true })
    expect(data.tenant.rateLimits).toContainEqual({
      kind: { name: 'email_send' },
      limit: { rps: 10 },
      overridden: false,
    })
    expect(data.tenant.rateLimits).toContainEqual({ kind: { name: 'resize_image' }, limit: null, overridden: false })
  })

  test.each([
    [{ rps: 0, burst: 1 }, 'rps'],
    [{ rps: 10_001, burst: 1 }, 'rps'],
    [{ rps: 1, burst: 0 }, 'burst'],
  ])('refuse %j', async (limit, field) => {
    expect((await call('setRateLimit', { tenantId: 'acme', kind: 'echo', limit })).errors).toMatchObject([
      { code: 'INVALID', path: ['limit', field] },
    ])
  })

  test('count what was turned away in the last minute', async () => {
    const hit = `insert into mdm.aa_audit_log (at, job_id, tenant_id, action, job_kind, payload) select now() - $3::interval, $1, $2, 'job_released', 'echo', '{"cause": "rate_limited"}' from generate_series(1, 3)`
    await api.sql(hit, [randomUUID(), globex, '10 seconds'])
    await api.sql(hit, [randomUUID(), globex, '2 minutes'])
    await api.sql(
      `insert into mdm.aa_audit_log (job_id, tenant_id, action, job_kind, payload) values ($1, $2, 'job_released', 'echo', '{"cause": "shutdown"}')`,
      [randomUUID(), globex],
    )
    const { data } = await api.run('{ tenant(id: "globex") { rateLimits { kind { name } hitsPerMinute } } }')
    expect(
      data.tenant.rateLimits.find((limit: { kind: { name: string } }) => limit.kind.name === 'echo').hitsPerMinute,
    ).toBe(3)
  })
})

test('a weight is set within its range', async () => {
  expect((await call('setTenantWeight', { tenantId: 'acme', weight: 3 })).tenant).toEqual({ key: 'acme', weight: 3 })
  expect(await lastEntry()).toMatchObject({
    action: 'tenant_change',
    tenant_key: 'acme',
    payload: { change: 'weight', from: null, to: 3 },
  })
  for (const weight of [0, 101])
    expect((await call('setTenantWeight', { tenantId: 'acme', weight })).errors).toMatchObject([
      { code: 'INVALID', path: ['weight'] },
    ])
  expect((await call('setTenantWeight', { tenantId: 'nobody', weight: 3 })).errors).toMatchObject([
    { code: 'NOT_FOUND', id: 'nobody' },
  ])
})

describe('concurrency limits', () => {
  const list = (as = admin) => api.run('{ concurrencyLimits { kind { name } tenant { key } max running } }', {}, as)
  test('are set, listed with what runs, and taken away', async () => {
    const [id] = await pending(1)
    await api.sql(`update mdm.aa_job set status = 'running', attempts = 1 where id = $1`, [id])
    expect((await call('setConcurrencyLimit', { queue: { kind: 'echo' }, max: 4 })).concurrencyLimit).toEqual({
      kind: { name: 'echo' },
      tenant: null,
      max: 4,
      running: 1,
    })
    expect(await lastEntry()).toMatchObject({
      action: 'concurrency_limit_set',
      tenant_key: 'platform',
      payload: { kind: 'echo', from: null, to: 4 },
    })
    expect(signals).toContain('control')
    await call('setConcurrencyLimit', { queue: { kind: 'echo', tenantId: 'globex' }, max: 0 })
    expect((await list()).data.concurrencyLimits).toEqual([
      { kind: { name: 'echo' }, tenant: null, max: 4, running: 1 },
      { kind: { name: 'echo' }, tenant: { key: 'globex' }, max: 0, running: 0 },
    ])
    // What others run is not told.
    expect((await list(caller({ tenantIds: [globex] }))).data.concurrencyLimits).toEqual([
      { kind: { name: 'echo' }, tenant: null, max: 4, running: 0 },
      { kind: { name: 'echo' }, tenant: { key: 'globex' }, max: 0, running: 0 },
    ])
    expect((await call('setConcurrencyLimit', { queue: { kind: 'echo' }, max: null })).concurrencyLimit).toMatchObject({
      max: null,
    })
    expect(await lastEntry()).toMatchObject({ payload: { from: 4, to: null } })
    expect((await call('setConcurrencyLimit', { queue: { kind: 'echo' }, max: -1 })).errors).toMatchObject([
      { code: 'INVALID', path: ['max'] },
    ])
    await api.sql('delete from mdm.aa_job where id = $1', [id]).catch(() => undefined)
  })
})

describe('closing a tenant', () => {
  test('stops what waits, with audit, in batches; opened again it has what it had', async () => {
    const initech = await api.tenant('initech')
    await call('setTenantWeight', { tenantId: 'initech', weight: 5 })
    const waiting = [
      ...(await pending(1_200, { tenantId: initech })),
      ...(await pending(3, { tenantId: initech, later: true })),
      ...(await pending(2, { tenantId: initech, kind: 'resize_image' })),
    ]
    const [stubborn] = await pending(1, { tenantId: initech, kind: 'resize_image', priority: 999 })
    const [elsewhere] = await pending(1)
    const closed = await call('setTenantActive', { tenantId: 'initech', active: false, reason: 'contract ended' })
    expect(closed).toEqual({ tenant: { key: 'initech', active: false, weight: 5 }, errors: [] })
    const [stopped] = await api.sql(
      `select count(*)::int as jobs, count(distinct a.job_id)::int as rows, min(a.reason) as reason, min(a.actor_principal_id) as actor, min(a.payload ->> 'from') as before
         from mdm.aa_job j join mdm.aa_audit_log a on a.job_id = j.id and a.action = 'job_stop' and a.revision = j.revision
        where j.id = any ($1) and j.status = 'failed' and j.stop_cause = 'stopped' and j.dead_at is not null`,
      [waiting],
    )
    expect(stopped).toEqual({
      jobs: waiting.length,
      rows: waiting.length,
      reason: 'contract ended',
      actor: 'user:ada',
      before: 'pending',
    })
    expect(await api.sql('select from followed where job_id = any ($1)', [waiting])).toHaveLength(2)
    const states = await api.sql('select status::text from mdm.aa_job where id = any ($1)', [[stubborn, elsewhere]])
    expect(states).toEqual([{ status: 'pending' }, { status: 'pending' }])
    const changes = await api.sql(
      `select payload ->> 'change' as change from mdm.aa_audit_log where tenant_id = $1 and action = 'tenant_change' order by id`,
      [initech],
    )
    expect(changes.map((row) => row.change)).toEqual(['weight', 'closed'])
    // Again: goes on with what is left, and says nothing twice.
    await pending(2, { tenantId: initech })
    await call('setTenantActive', { tenantId: 'initech', active: false })
    expect(await api.sql(`select from mdm.aa_job where tenant_id = $1 and status = 'pending'`, [initech])).toHaveLength(
      1,
    )
    expect(
      await api.sql(`select from mdm.aa_audit_log where tenant_id = $1 and payload ->> 'change' = 'closed'`, [initech]),
    ).toHaveLength(1)
    expect(
      (await api.run('mutation { createTenant(input: { key: "initech", name: "Other" }) { errors { code } } }')).data
        .createTenant.errors,
    ).toHaveLength(1)
    const replay = 'mutation($id: ID!) { replayJob(input: { id: $id }) { job { status } errors { code } } }'
    expect((await api.run(replay, { id: waiting[0] })).data.replayJob).toEqual({
      job: null,
      errors: [{ code: 'CONFLICT' }],
    })
    expect((await call('setTenantActive', { tenantId: 'initech', active: true })).tenant).toEqual({
      key: 'initech',
      active: true,
      weight: 5,
    })
    expect((await api.run(replay, { id: waiting[0] })).data.replayJob).toEqual({
      job: { status: 'PENDING' },
      errors: [],
    })
  })

  test('platform stays open', async () => {
    expect((await call('setTenantActive', { tenantId: 'platform', active: false })).errors).toMatchObject([
      { code: 'INVALID', path: ['tenantId'] },
    ])
  })
})

describe('scopes and tenants', () => {
  const inputs: Record<Mutation, [object, readonly Scope[]]> = {
    pauseQueue: [{ queue: { tenantId: 'acme' } }, ['MANAGE_METADATA']],
    resumeQueue: [{ queue: { tenantId: 'acme' } }, ['MANAGE_METADATA']],
    setRateLimit: [{ tenantId: 'acme', kind: 'echo' }, ['MANAGE_METADATA', 'OPERATE_PLATFORM']],
    setTenantWeight: [{ tenantId: 'acme', weight: 2 }, ['MANAGE_METADATA', 'OPERATE_PLATFORM']],
    setConcurrencyLimit: [{ queue: { tenantId: 'acme' }, max: 1 }, ['MANAGE_METADATA', 'OPERATE_PLATFORM']],
    setTenantActive: [{ tenantId: 'acme', active: false }, ['OPERATE_PLATFORM']],
  }
  test.each(Object.keys(inputs) as Mutation[])('%s', async (mutation) => {
    const [input, scopes] = inputs[mutation]
    for (const missing of scopes) {
      const others = (
        ['READ_JOBS', 'CONTROL_JOBS', 'MANAGE_METADATA', 'READ_AUDIT', 'OPERATE_PLATFORM'] as const
      ).filter((each) => each !== missing)
      await expect(call(mutation, input, caller({ tenantIds: 'all', may: others }))).rejects.toMatchObject({
        code: 'FORBIDDEN',
      })
    }
    const foreign = await call(mutation, input, caller({ tenantIds: [globex] }))
    expect(foreign.errors).toMatchObject([{ __typename: 'NotFoundError', id: 'acme' }])
  })
})

describe('why a job waits', () => {
  const ask = async (id: string) => {
    const { data, errors } = await api.run(
      'query($id: ID!) { job(id: $id) { waitReasons { code message until position pause { reason } } } }',
      { id },
    )
    expect(errors).toEqual([])
    return data.job.waitReasons as {
      code: string
      until: string | null
      position: number | null
      pause: { reason: string } | null
    }[]
  }
  const codes = async (id: string) => (await ask(id)).map(({ code }) => code)

  test('nobody serves it; then it stands in line', async () => {
    const umbrella = await api.tenant('umbrella')
    const ids = await pending(3, { tenantId: umbrella, kind: 'resize_image' })
    expect(await codes(ids[0]!)).toEqual(['NO_WORKER'])
    const instance = randomUUID()
    await registerInstance(api.pool, instance, 'host', 1, 'test', null)
    await registerWorker(api.pool, instance, `host/1/${instance}`, 'default', 4, ['resize_image', 'echo'], null, 'fair')
    const [first, , third] = await Promise.all(ids.map(ask))
    expect(first).toMatchObject([{ code: 'IN_LINE' }])
    expect(third![0]!.position! - first![0]!.position!).toBeGreaterThanOrEqual(2)
    await pending(1_500, { tenantId: umbrella, priority: 1 })
    expect((await ask(ids[0]!))[0]!.position).toBe(1_000)
  })

  test('paused, capped, closed, not yet due, turned away: all that hold are told', async () => {
    const [id] = await pending(1, { later: true })
    const [reason] = await ask(id!)
    expect(reason).toMatchObject({ code: 'NOT_YET_DUE', position: null })
    expect(Date.parse(reason!.until!)).toBeGreaterThan(Date.now() + 3_500_000)
    await api.sql(
      `insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, payload) values ($1, $2, 'job_released', 9, 'echo', '{"cause": "rate_limited"}')`,
      [id, acme],
    )
    expect(await codes(id!)).toEqual(['RATE_LIMITED'])
    await call('pauseQueue', { queue: { kind: 'echo' }, reason: 'flood' })
    await call('setConcurrencyLimit', { queue: { tenantId: 'acme' }, max: 0 })
    const reasons = await ask(id!)
    expect(reasons.map(({ code }) => code)).toEqual(['RATE_LIMITED', 'PAUSED', 'CONCURRENCY_FULL'])
    expect(reasons[1]!.pause).toEqual({ reason: 'flood' })
    await api.sql(`update mdm.aa_tenant set status = 'closed' where id = $1`, [acme])
    expect(await codes(id!)).toContain('TENANT_INACTIVE')
    await api.sql(`update mdm.aa_tenant set status = 'active' where id = $1`, [acme])
  })

  test('a job that is not pending waits for nothing', async () => {
    const [id] = await pending(1)
    await api.sql(`update mdm.aa_job set status = 'running', attempts = 1 where id = $1`, [id])
    expect(await ask(id!)).toEqual([])
  })
})

test('living instances, their workers and what those have in hand, without what is foreign', async () => {
  const instance = randomUUID()
  const dead = randomUUID()
  await registerInstance(api.pool, instance, 'box', 7, '1.2.3', null)
  await registerInstance(api.pool, dead, 'box', 8, '1.2.3', null)
  await api.sql(`update mdm.aa_instance set heartbeat_at = now() - interval '1 minute' where id = $1`, [dead])
  const name = `box/7/${instance}`
  await registerWorker(api.pool, instance, name, 'default', 4, null, null, 'fair')
  const [own] = await pending(1)
  const [foreign] = await pending(1, { tenantId: globex })
  for (const id of [own, foreign]) {
    await api.sql(`update mdm.aa_job set status = 'running', attempts = 1, claimed_by = $2 where id = $1`, [id, name])
    await api.sql('update mdm.aa_claim set instance_id = $2 where $1 = any (job_ids)', [id, instance])
  }
  const query = '{ instances { id host pid version workers { name slots state currentJobs { id } } } }'
  const seen = (await api.run(query, {}, caller({ tenantIds: [acme], may: ['READ_JOBS'] }))).data.instances as {
    id: string
  }[]
  expect(seen.find(({ id }) => id === `instance_${instance}`)).toMatchObject({
    host: null,
    pid: null,
    version: '1.2.3',
    workers: [{ name, slots: 4, currentJobs: [{ id: `job_${own}` }] }],
  })
  expect(seen.some(({ id }) => id === `instance_${dead}`)).toBe(false)
  const all = (await api.run(query)).data.instances as { id: string; host: string }[]
  expect(all.find(({ id }) => id === `instance_${instance}`)).toMatchObject({
    host: 'box',
    pid: 7,
    workers: [{ currentJobs: [{ id: `job_${own}` }, { id: `job_${foreign}` }] }],
  })
})
