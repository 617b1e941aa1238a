import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerInstance } from '../../src/sql/register-instance.ts'
import { registerWorker } from '../../src/sql/register-worker.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let acme: string
let globex: string
let worker: { id: number; name: string }
let job: string
let foreign: string

/** Writes lines of the journal; answers their ids. */
async function write(
  rows: readonly {
    tenant?: string
    action: string
    actor?: string | null
    job?: string
    payload?: string
    worker?: number
    ago?: string
  }[],
): Promise<string[]> {
  const ids: string[] = []
  for (const row of rows) {
    const [written] = await api.sql<{ id: string }>(
      `insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, job_id, payload, worker, at, reason, request_id)
       values ($1, $2, $3, $4, $5::jsonb, $6, now() - $7::interval, 'why', 'req') returning id::text`,
      [
        row.tenant ?? acme,
        row.action,
        row.actor === undefined ? 'user:ada' : row.actor,
        row.job ?? null,
        row.payload ?? null,
        row.worker ?? null,
        row.ago ?? '0 s',
      ],
    )
    ids.push(`audit_${written!.id}`)
  }
  return ids
}

beforeAll(async () => {
  api = await testApi()
  acme = await api.tenant('acme')
  globex = await api.tenant('globex')
  const instance = randomUUID()
  await registerInstance(api.pool, instance, 'box', 1, 'test', null)
  const name = `box/1/${instance}`
  const [row] = await registerWorker(api.pool, instance, name, 'default', 4, null, null, 'fair')
  worker = { id: row!.id, name }
  const insert = `insert into mdm.aa_job (tenant_id, job_kind) values ($1, 'echo') returning id`
  job = (await api.sql<{ id: string }>(insert, [acme]))[0]!.id
  foreign = (await api.sql<{ id: string }>(insert, [globex]))[0]!.id
})
afterAll(() => api.stop())

const fields =
  'nodes { id at action actor { id kind } tenant { key } jobId job { id } reason snapshot requestId } pageInfo { hasNextPage hasPreviousPage endCursor }'

async function log(filter: object | null = null, { first = 20, after = null as string | null, as = admin } = {}) {
  const answer = await api.run(
    `query($filter: AuditFilter, $first: Int!, $after: String) { auditLog(filter: $filter, first: $first, after: $after) { ${fields} } }`,
    { filter, first, after },
    as,
  )
  if (answer.data === null) throw Object.assign(new Error(answer.errors[0]!.message), { code: codeOf(answer) })
  return answer.data.auditLog
}
const idsOf = async (...args: Parameters<typeof log>) => (await log(...args)).nodes.map(({ id }: { id: string }) => id)

test('shows the newest first, what was done, by whom, on whose data', async () => {
  const [dlq, paused] = await write([
    {
      action: 'job_dlq',
      actor: null,
      worker: worker.id,
      job,
      payload: '{"last_error": "Error: x", "log": ["a line"], "n": 1}',
    },
    { action: 'queue_pause', actor: 'service:billing' },
  ])
  const { nodes } = await log(null, { first: 2 })
  expect(nodes).toMatchObject([
    {
      id: paused,
      action: 'QUEUE_PAUSE',
      actor: { id: 'billing', kind: 'SERVICE' },
      tenant: { key: 'acme' },
      jobId: null,
      job: null,
      reason: 'why',
      requestId: 'req',
      snapshot: null,
    },
    {
      id: dlq,
      action: 'JOB_DLQ',
      actor: { id: worker.name, kind: 'WORKER' },
      jobId: `job_${job}`,
      job: { id: `job_${job}` },
      snapshot: { last_error: 'Error: x', n: 1 },
    },
  ])
})

test('leaves out what is not audited', async () => {
  const [retry, released, recovered, done] = await write(
    ['job_retry', 'job_released', 'job_recovered', 'job_done'].map((action) => ({ action, job })),
  )
  const ids = await idsOf(null, { first: 100 })
  expect(ids).toContain(done)
  for (const id of [retry, released, recovered]) {
    expect(ids).not.toContain(id)
    expect((await api.run('query($id: ID!) { node(id: $id) { id } }', { id })).data.node).toBeNull()
  }
})

test('pages without a gap or a double, while lines are added', async () => {
  const written = await write(Array.from({ length: 7 }, () => ({ action: 'rate_limit_set', tenant: globex })))
  const seen: string[] = []
  let after: string | null = null
  do {
    const page: { nodes: { id: string }[]; pageInfo: { hasNextPage: boolean; endCursor: string } } = await log(
      { action: ['RATE_LIMIT_SET'], tenantId: ['globex'] },
      { first: 3, after },
    )
    seen.push(...page.nodes.map(({ id }) => id))
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
    await write([{ action: 'rate_limit_set', tenant: globex }])
  } while (after !== null)
  expect(seen).toEqual(written.toReversed())
})

describe('filters', () => {
  test('by action, each of the actions behind a name', async () => {
    const [stop, requested, cancel] = await write([
      { action: 'job_stop', job },
      { action: 'job_stop_requested', job },
      { action: 'job_cancel', job },
    ])
    expect(await idsOf({ action: ['JOB_STOP'] })).toEqual([requested, stop])
    expect(await idsOf({ action: ['JOB_STOP', 'JOB_CANCEL'] })).toEqual([cancel, requested, stop])
    const [born] = await write([{ action: 'job_enqueued', job }])
    expect(await idsOf({ action: ['JOB_ENQUEUED'] }, { first: 1 })).toEqual([born])
  })

  test('by actor: a person, SQL, a worker', async () => {
    const [mine, sql, run] = await write([
      { action: 'job_replay', actor: 'user:grace', job },
      { action: 'job_replay', actor: 'sql:operator', job },
      { action: 'email_sent', actor: null, worker: worker.id, job },
    ])
    expect(await idsOf({ actorId: 'grace' })).toEqual([mine])
    expect(await idsOf({ actorId: 'grace', action: ['JOB_REPLAY'] })).toEqual([mine])
    expect(await idsOf({ actorId: 'sql:operator' })).toEqual([sql])
    expect(await idsOf({ actorId: worker.name, action: ['EMAIL_SENT'] })).toEqual([run])
    expect(await idsOf({ actorId: 'nobody' })).toEqual([])
  })

  test('by job, also when it is gone', async () => {
    const gone = randomUUID()
    const [discard] = await write([
      { action: 'job_discard', job: gone, payload: '{"snapshot": {"payload": {"n": 1}}}' },
    ])
    const { nodes } = await log({ jobId: `job_${gone}` })
    expect(nodes).toMatchObject([
      { id: discard, jobId: `job_${gone}`, job: null, snapshot: { snapshot: { payload: { n: 1 } } } },
    ])
    expect(await idsOf({ jobId: 'nonsense' })).toEqual([])
  })

  test('by time', async () => {
    const [old] = await write([{ action: 'tenant_change', ago: '3 days' }])
    const day = 24 * 60 * 60 * 1_000
    const at = { from: new Date(Date.now() - 4 * day).toISOString(), to: new Date(Date.now() - 2 * day).toISOString() }
    expect(await idsOf({ at })).toEqual([old])
  })

  test('refuse what cannot be read', async () => {
    await expect(log({ actorId: 'a\0' })).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
    await expect(log(null, { first: 0 })).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
    await expect(log(null, { after: 'nonsense' })).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
  })
})

describe('who may read', () => {
  test('only with READ_AUDIT; a snapshot only with READ_PAYLOADS; the job only with READ_JOBS', async () => {
    await expect(
      log(null, { as: caller({ tenantIds: 'all', may: ['READ_JOBS', 'MANAGE_METADATA'] }) }),
    ).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await write([{ action: 'job_dlq', job, payload: '{"last_error": "x"}' }])
    const { nodes } = await log(null, { first: 1, as: caller({ tenantIds: 'all', may: ['READ_AUDIT'] }) })
    expect(nodes).toMatchObject([{ jobId: `job_${job}`, job: null, snapshot: null }])
  })

  test('nothing of a foreign tenant, whatever is asked for', async () => {
    const [theirs] = await write([{ action: 'job_dlq', tenant: globex, job: foreign }])
    const as = caller({ tenantIds: [acme] })
    for (const filter of [null, { tenantId: ['globex'] }, { jobId: foreign }, { action: ['JOB_DLQ'] }]) {
      const { nodes } = await log(filter, { first: 100, as })
      expect(nodes.filter((each: { tenant: { key: string } }) => each.tenant?.key !== 'acme')).toEqual([])
    }
    expect((await api.run('query($id: ID!) { node(id: $id) { id } }', { id: theirs }, as)).data.node).toBeNull()
    expect((await api.run('query($id: ID!) { node(id: $id) { __typename id } }', { id: theirs })).data.node).toEqual({
      __typename: 'AuditEntry',
      id: theirs,
    })
  })
})

test('a job shows its own', async () => {
  const [id] = await write([{ action: 'job_updated', job: foreign }])
  const { data } = await api.run(
    'query($id: ID!) { job(id: $id) { auditLog(first: 1) { nodes { id action } streamCursor } } }',
    { id: foreign },
  )
  expect(data.job.auditLog).toEqual({ nodes: [{ id, action: 'JOB_UPDATE' }], streamCursor: expect.any(String) })
})

test('dead letters come latest death first, whatever status is asked for', async () => {
  const rows = await api.sql<{ id: string }>(
    `insert into mdm.aa_job (tenant_id, job_kind, priority) select $1, 'echo', n from generate_series(1, 3) n returning id`,
    [acme],
  )
  for (const { id } of rows) {
    await api.sql(`update mdm.aa_job set status = 'running', attempts = 1 where id = $1`, [id])
    await api.sql(`update mdm.aa_job set status = 'dlq', last_error = 'Error: x' where id = $1`, [id])
  }
  const ids = rows.map(({ id }) => `job_${id}`).toReversed()
  const query =
    'query($first: Int, $after: String) { deadLetters(filter: { status: [DONE], kind: ["echo"] }, first: $first, after: $after) { nodes { id status } pageInfo { endCursor } totalCount { count } } }'
  const { deadLetters: page } = (await api.run(query, { first: 2 })).data
  expect(page).toMatchObject({ nodes: [{ id: ids[0], status: 'DLQ' }, { id: ids[1] }], totalCount: { count: 3 } })
  const { deadLetters: rest } = (await api.run(query, { first: 2, after: page.pageInfo.endCursor })).data
  expect(rest.nodes.map(({ id }: { id: string }) => id)).toEqual([ids[2]])
  expect((await api.run(query, {}, caller({ tenantIds: [globex] }))).data.deadLetters.nodes).toEqual([])
})

test('a read that takes more than two seconds is given up', async () => {
  const blocker = await api.pool.connect()
  await blocker.query('begin')
  await blocker.query('lock table mdm.aa_audit_log in access exclusive mode')
  const answer = await api.run('{ auditLog { nodes { id } } }')
  await blocker.query('rollback')
  blocker.release()
  expect(codeOf(answer)).toBe('BAD_USER_INPUT')
  expect(answer.errors[0]!.originalError).toMatchObject({ extensions: { reason: 'LIMIT_EXCEEDED' } })
})
