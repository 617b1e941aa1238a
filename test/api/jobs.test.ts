import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
beforeAll(async () => {
  api = await testApi()
})
afterAll(() => api.stop())

const list = `query ($filter: JobFilter, $orderBy: JobOrder! = { field: CREATED_AT, direction: DESC }, $first: Int, $after: String, $last: Int, $before: String) {
  jobs(filter: $filter, orderBy: $orderBy, first: $first, after: $after, last: $last, before: $before) {
    nodes { id payload priority } edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount { count precision } } }`

const add = async (n: number, more: Record<string, unknown> = {}): Promise<string> => {
  const { data } = await api.run(
    'mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { job { id } errors { message } } }',
    {
      input: { job: { custom: { kind: 'echo', payload: { n } } }, ...more },
    },
  )
  expect(data.enqueueJob.errors).toEqual([])
  return data.enqueueJob.job.id
}
const jobs = async (variables: Record<string, unknown>, by = admin) => {
  const { data, errors } = await api.run(list, variables, by)
  expect(errors).toEqual([])
  return data.jobs
}
const numbers = (page: { nodes: { payload: { n: number } }[] }) => page.nodes.map(({ payload }) => payload.n)
const uuidOf = (id: string) => id.slice('job_'.length)
/** Ends a job as an operator would with SQL. */
const move = (id: string, status: string) =>
  api.sql('update mdm.aa_job set status = $2 where id = $1', [uuidOf(id), status])

describe('pages', () => {
  const tag = ['pages']
  beforeAll(async () => {
    for (let n = 1; n <= 25; n += 1) await add(n, { tags: tag, priority: n % 3 })
  })

  test('newest first, to the end and back', async () => {
    const filter = { tag }
    const first = await jobs({ filter, first: 10 })
    expect(numbers(first)).toEqual([25, 24, 23, 22, 21, 20, 19, 18, 17, 16])
    expect(first).toMatchObject({
      pageInfo: { hasNextPage: true, hasPreviousPage: false },
      totalCount: { count: 25, precision: 'EXACT' },
    })
    const second = await jobs({ filter, first: 10, after: first.pageInfo.endCursor })
    const third = await jobs({ filter, first: 10, after: second.pageInfo.endCursor })
    expect([...numbers(second), ...numbers(third)]).toEqual([15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    expect(third.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true })
    const back = await jobs({ filter, last: 10, before: third.pageInfo.startCursor })
    expect(numbers(back)).toEqual(numbers(second))
    expect(numbers(await jobs({ filter, last: 5 }))).toEqual([5, 4, 3, 2, 1])
  })

  test('stay as they are while jobs come and go (G07)', async () => {
    const filter = { tag: ['moving'] }
    const ids: string[] = []
    for (let n = 1; n <= 6; n += 1) ids.push(await add(n, { tags: ['moving'] }))
    const first = await jobs({ filter, first: 3 })
    await add(7, { tags: ['moving'] })
    // The job of the cursor itself goes.
    await api.sql('delete from mdm.aa_job where id = $1', [uuidOf(ids[3]!)])
    expect(numbers(first)).toEqual([6, 5, 4])
    expect(numbers(await jobs({ filter, first: 3, after: first.pageInfo.endCursor }))).toEqual([3, 2, 1])
  })

  test.each(['DESC', 'ASC'])('by priority and due time, %s, in pages', async (direction) => {
    const variables = { filter: { tag, status: ['PENDING'] }, orderBy: { field: 'PRIORITY', direction }, first: 7 }
    const found: number[] = []
    let after: string | null = null
    do {
      const page: Awaited<ReturnType<typeof jobs>> = await jobs({ ...variables, after })
      found.push(...numbers(page))
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null
    } while (after !== null)
    const expected = Array.from({ length: 25 }, (_, i) => i + 1).toSorted((a, b) => (a % 3) - (b % 3) || a - b)
    expect(found).toEqual(direction === 'ASC' ? expected : expected.toReversed())
  })

  test('by due time, waiting and due ones together', async () => {
    const filter = { tag: ['time'], status: ['PENDING'] }
    await add(3, { tags: ['time'], schedule: { after: 'PT1H' } })
    await add(1, { tags: ['time'] })
    await add(2, { tags: ['time'], schedule: { after: 'PT1M' } })
    const soonest = await jobs({ filter, orderBy: { field: 'AVAILABLE_AT', direction: 'ASC' }, first: 2 })
    expect(numbers(soonest)).toEqual([1, 2])
    expect(
      numbers(
        await jobs({
          filter,
          orderBy: { field: 'AVAILABLE_AT', direction: 'ASC' },
          first: 2,
          after: soonest.pageInfo.endCursor,
        }),
      ),
    ).toEqual([3])
    expect(numbers(await jobs({ filter, orderBy: { field: 'AVAILABLE_AT', direction: 'DESC' } }))).toEqual([3, 2, 1])
    expect((await jobs({ filter })).totalCount).toEqual({ count: 3, precision: 'EXACT' })
  })

  test('the dead by the time of their death', async () => {
    const ids = [await add(1, { tags: ['dead'] }), await add(2, { tags: ['dead'] }), await add(3, { tags: ['dead'] })]
    await move(ids[1]!, 'dlq')
    await move(ids[2]!, 'failed')
    await move(ids[0]!, 'dlq')
    const variables = {
      filter: { tag: ['dead'], status: ['DLQ', 'FAILED'] },
      orderBy: { field: 'COMPLETED_AT', direction: 'DESC' },
    }
    const first = await jobs({ ...variables, first: 2 })
    expect(numbers(first)).toEqual([1, 3])
    expect(numbers(await jobs({ ...variables, first: 2, after: first.pageInfo.endCursor }))).toEqual([2])
    expect(numbers(await jobs({ ...variables, orderBy: { field: 'COMPLETED_AT', direction: 'ASC' } }))).toEqual([
      2, 3, 1,
    ])
    expect(first.totalCount).toEqual({ count: 3, precision: 'EXACT' })
    expect(numbers(await jobs({ filter: variables.filter }))).toEqual([3, 2, 1])
  })

  test.each([
    [{ first: 0 }],
    [{ first: -1 }],
    [{ first: 101 }],
    [{ last: 2_147_483_647 }],
    [{ first: 1, last: 1 }],
    [{ first: 1, before: 'x' }],
    [{ after: 'no cursor' }],
    [{ orderBy: { field: 'PRIORITY', direction: 'ASC' } }],
    [{ orderBy: { field: 'AVAILABLE_AT', direction: 'ASC' }, filter: { status: ['PENDING', 'DONE'] } }],
    [{ orderBy: { field: 'COMPLETED_AT', direction: 'ASC' }, filter: { status: ['DONE'] } }],
    [{ filter: { correlationId: 'a\u0000' } }],
  ])('%j is refused', async (variables) => {
    const answer = await api.run(list, variables)
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
    expect(answer.data).toBeNull()
  })

  test('a cursor of another order is refused, one that was made up too', async () => {
    const { pageInfo } = await jobs({ first: 1 })
    const answer = await api.run(list, {
      after: pageInfo.endCursor,
      filter: { status: ['PENDING'] },
      orderBy: { field: 'PRIORITY', direction: 'ASC' },
    })
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
    const forged = Buffer.from(JSON.stringify(['CREATED_AT', '1; drop table'])).toString('base64url')
    expect(codeOf(await api.run(list, { after: forged }))).toBe('BAD_USER_INPUT')
  })

  test('counting stops where it was told to', async () => {
    const { data } = await api.run(
      '{ jobs(first: 1, filter: { tag: ["pages"] }) { totalCount(atMost: 10) { count precision } } }',
    )
    expect(data.jobs.totalCount).toEqual({ count: 10, precision: 'AT_LEAST' })
  })
})

describe('filters', () => {
  test('each finds its job and no other', async () => {
    const id = await add(1, { tags: ['f', 'g'], correlationId: 'corr', idempotencyKey: 'key', priority: 42 })
    await add(2, { tags: ['f'] })
    const { job } = (await api.run('query ($id: ID!) { job(id: $id) { createdAt } }', { id })).data
    const after = new Date(Date.parse(job.createdAt) + 60_000).toISOString()
    const filters = [
      { id: [id] },
      { id: [uuidOf(id)] },
      { tag: ['f', 'g'] },
      { correlationId: 'corr' },
      { idempotencyKey: 'key' },
      { priority: { min: 42, max: 42 } },
      { payload: { n: 1 }, tag: ['g'] },
      { tag: ['g'], createdAt: { from: job.createdAt, to: after } },
      { tag: ['g'], kind: ['echo'], status: ['PENDING'], attemptCount: { max: 0 } },
      { tag: ['g'], tenantId: ['default'] },
      { tag: ['g'], tenantId: ['tenant_default', 'nobody'] },
    ]
    for (const filter of filters) {
      const page = await jobs({ filter })
      expect(
        page.nodes.map((node: { id: string }) => node.id),
        JSON.stringify(filter),
      ).toEqual([id])
      expect(page.totalCount, JSON.stringify(filter)).toEqual({ count: 1, precision: 'EXACT' })
    }
    const nothing = [
      { id: ['no id'] },
      { status: [] },
      { tag: ['g'], kind: ['email_send'] },
      { tag: ['g'], availableAt: { from: after } },
      { tag: ['g'], tenantId: ['nobody'] },
      { errorText: 'x', tag: ['g'] },
      { workerId: 'nobody' },
      { errorFingerprint: 'x' },
    ]
    for (const filter of nothing) expect((await jobs({ filter })).nodes, JSON.stringify(filter)).toEqual([])
  })

  test('a look into payloads or errors needs READ_PAYLOADS', async () => {
    const reader = caller({ tenantIds: 'all', may: ['READ_JOBS'] })
    expect(codeOf(await api.run(list, { filter: { payload: { n: 1 } } }, reader))).toBe('FORBIDDEN')
    expect(codeOf(await api.run(list, { filter: { errorText: 'x' } }, reader))).toBe('FORBIDDEN')
  })

  test('a job by its idempotency key', async () => {
    const id = await add(5, { idempotencyKey: 'find me' })
    const find = (key: string, tenantId?: string) =>
      api.run(
        'query ($key: String!, $tenantId: ID) { jobByIdempotencyKey(kind: "echo", key: $key, tenantId: $tenantId) { id } }',
        { key, tenantId },
      )
    expect((await find('find me')).data.jobByIdempotencyKey).toEqual({ id })
    expect((await find('find me', 'platform')).data.jobByIdempotencyKey).toBeNull()
    expect((await find('other')).data.jobByIdempotencyKey).toBeNull()
  })
})

describe('one job', () => {
  const detail = `query ($id: ID!) { job(id: $id) {
    id status attemptCount runSeconds waitSeconds staleAt nextAttemptAt completedAt claimedBy { id name slots } lastError { name message detail fingerprint at }
    stop { cause reason by { id kind } } progress { percent current total message data updatedAt } result allowedActions
    events(first: 2) { nodes { id revision type fromStatus toStatus attempt actor { id kind } error { message } } pageInfo { hasNextPage endCursor } }
    attempts { nodes { number outcome finishedAt error { message name } } } } }`
  const job = async (id: string, by = admin) => (await api.run(detail, { id }, by)).data.job

  test('its life: events, attempts, the last failure', async () => {
    const id = await add(1)
    await api.sql("update mdm.aa_job set status = 'running', attempts = 1 where id = $1", [uuidOf(id)])
    await api.sql(
      "update mdm.aa_job set progress = jsonb_build_object('done', 1, 'total', 4, 'message', 'one', 'at', now()) where id = $1",
      [uuidOf(id)],
    )
    const running = await job(id)
    expect(running).toMatchObject({
      status: 'RUNNING',
      progress: { percent: 25, current: 1, total: 4, message: 'one', data: null },
      events: {
        nodes: [
          { revision: 1, type: 'ENQUEUED', actor: { id: 'ada', kind: 'USER' } },
          { revision: 2, type: 'CLAIMED', fromStatus: 'PENDING', toStatus: 'RUNNING' },
        ],
      },
      attempts: { nodes: [{ number: 1, outcome: 'RUNNING', finishedAt: null }] },
    })
    expect(Date.parse(running.staleAt)).toBeGreaterThan(Date.now())
    await api.sql(
      "update mdm.aa_job set status = 'dlq', last_error = E'TypeError: bad 17\\nsecond line' where id = $1",
      [uuidOf(id)],
    )
    const dead = await job(id)
    expect(dead).toMatchObject({
      status: 'DLQ',
      lastError: { name: 'TypeError', message: 'bad 17', at: dead.completedAt },
      staleAt: null,
      events: { nodes: [{ type: 'ENQUEUED' }, { type: 'CLAIMED', attempt: 1 }], pageInfo: { hasNextPage: true } },
      attempts: { nodes: [{ number: 1, outcome: 'DEAD_LETTERED', error: { name: 'TypeError', message: 'bad 17' } }] },
    })
    expect(dead.lastError.fingerprint).toMatch(/^[0-9a-f]{16}$/)
    const rest = await api.run(
      'query ($id: ID!, $after: String) { job(id: $id) { events(after: $after) { nodes { id type revision } } } }',
      { id, after: dead.events.pageInfo.endCursor },
    )
    expect(rest.data.job.events.nodes).toMatchObject([{ type: 'DEAD_LETTERED', revision: 3 }])
    const [event] = rest.data.job.events.nodes
    expect(
      (await api.run('query ($id: ID!) { node(id: $id) { __typename id ... on JobEvent { type } } }', { id: event.id }))
        .data.node,
    ).toEqual({ __typename: 'JobEvent', id: event.id, type: 'DEAD_LETTERED' })
  })

  test('a stop says who and why; what may be done follows status and scopes', async () => {
    const id = await add(1)
    await api.sql(
      "update mdm.aa_job set status = 'failed', stop_reason = 'broken', stop_requested_at = now(), stop_cause = 'stopped', stop_requested_by = 'user:bob' where id = $1",
      [uuidOf(id)],
    )
    expect(await job(id)).toMatchObject({
      status: 'FAILED',
      stop: { cause: 'STOPPED', reason: 'broken', by: { id: 'bob', kind: 'USER' } },
      allowedActions: ['REPLAY', 'DISCARD'],
    })
    expect((await job(id, caller({ tenantIds: 'all', may: ['READ_JOBS', 'CONTROL_JOBS'] }))).allowedActions).toEqual([])
  })

  test('what is secret is masked without READ_PAYLOADS', async () => {
    const { data } = await api.run(
      `mutation { enqueueJob(input: { job: { custom: { kind: "resize_image", payload: { url: "https://secret.example", steps: [{ angle: 90 }] } } } }) { job { id } } }`,
    )
    const { id } = data.enqueueJob.job
    await api.sql(`update mdm.aa_job set result = '{"width": 1}', last_error = 'Error: x' where id = $1`, [uuidOf(id)])
    const fields =
      'query ($id: ID!) { job(id: $id) { payload payloadText payloadRedacted result lastError { message detail } } }'
    const reader = caller({ tenantIds: 'all', may: ['READ_JOBS'] })
    expect((await api.run(fields, { id }, reader)).data.job).toEqual({
      payload: { url: '[redacted]', steps: [{ angle: '[redacted]' }] },
      payloadText: null,
      payloadRedacted: true,
      result: null,
      lastError: { message: 'x', detail: null },
    })
    expect((await api.run(fields, { id })).data.job).toMatchObject({
      payload: { url: 'https://secret.example' },
      payloadRedacted: false,
      result: { width: 1 },
    })
    const open = await add(1)
    expect((await api.run(fields, { id: open }, reader)).data.job).toMatchObject({
      payload: { n: 1 },
      payloadRedacted: false,
    })
  })

  test('the stored text keeps numbers that JavaScript cannot hold', async () => {
    const [row] = await api.sql(`select job_id from mdm.enqueue_job('echo', '{"n": 12345678901234567890.10}')`)
    const { data } = await api.run('query ($id: ID!) { job(id: $id) { payloadText } }', { id: row!['job_id'] })
    expect(data.job.payloadText).toBe('{"n": 12345678901234567890.10}')
  })

  test('by bare uuid; unknown and unreadable ids find nothing', async () => {
    const id = await add(1)
    const find = async (asked: string) =>
      (await api.run('query ($id: ID!) { job(id: $id) { id } }', { id: asked })).data.job
    expect(await find(uuidOf(id))).toEqual({ id })
    expect(await find(uuidOf(id).toUpperCase())).toEqual({ id })
    expect(await find('job_00000000-0000-0000-0000-000000000000')).toBeNull()
    expect(await find('no id')).toBeNull()
  })
})

describe('who works', () => {
  test('a claim shows its worker, the worker its jobs, the instance its pools', async () => {
    const instance = '0197f3c2-0000-7000-8000-000000000001'
    await api.sql("insert into mdm.aa_instance (id, host, pid, version) values ($1, 'host', 42, '1.0.0')", [instance])
    const [worker] = await api.sql<{ id: number }>(
      "insert into mdm.aa_worker (instance_id, name, pool, slots, busy, kinds, tenants, dispatch) values ($1, 'host/42/x', 'default', 4, 1, '{echo}', '{default}', 'fair') returning id",
      [instance],
    )
    const id = await add(1)
    await api.sql("update mdm.aa_job set status = 'running', attempts = 1, claimed_by = 'host/42/x' where id = $1", [
      uuidOf(id),
    ])
    await api.sql('update mdm.aa_claim set instance_id = $1 where $2 = any (job_ids)', [instance, uuidOf(id)])
    const { data, errors } = await api.run(
      `query ($id: ID!, $worker: ID!) {
        job(id: $id) { claimedBy { id name slots busy state kinds { name } tenants { key } currentJob { id } currentJobs { id }
          instance { id host pid version workers { name } eventLoopDelaySeconds subscriptions } } }
        node(id: $worker) { __typename id } }`,
      { id, worker: `worker_${worker!.id}` },
    )
    expect(errors).toEqual([])
    expect(data).toEqual({
      job: {
        claimedBy: {
          id: `worker_${worker!.id}`,
          name: 'host/42/x',
          slots: 4,
          busy: 1,
          state: 'BUSY',
          kinds: [{ name: 'echo' }],
          tenants: [{ key: 'default' }],
          currentJob: { id },
          currentJobs: [{ id }],
          instance: {
            id: `instance_${instance}`,
            host: 'host',
            pid: 42,
            version: '1.0.0',
            workers: [{ name: 'host/42/x' }],
            eventLoopDelaySeconds: 0,
            subscriptions: 0,
          },
        },
      },
      node: { __typename: 'Worker', id: `worker_${worker!.id}` },
    })
    const foreigner = caller({ tenantIds: [await api.tenant('foreigner')], may: ['READ_JOBS'] })
    const seen = await api.run(
      'query ($worker: ID!) { node(id: $worker) { ... on Worker { currentJobs { id } currentJob { id } tenants { key } instance { host pid } } } }',
      { worker: `worker_${worker!.id}` },
      foreigner,
    )
    expect(seen.data.node).toEqual({
      currentJobs: [],
      currentJob: null,
      tenants: [],
      instance: { host: null, pid: null },
    })
    await api.sql("update mdm.aa_job set status = 'done' where id = $1", [uuidOf(id)])
    const ended = await api.run('query ($id: ID!) { job(id: $id) { status claimedAt claimedBy { name } } }', { id })
    expect(ended.data.job).toEqual({ status: 'DONE', claimedAt: null, claimedBy: null })
  })

  test('nodes come in order, at most 100', async () => {
    const id = await add(1)
    const nodes = (ids: string[]) => api.run('query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids })
    expect((await nodes(['kind_echo', 'none', id, 'tenant_default', 'kind_nope'])).data.nodes).toEqual([
      { __typename: 'JobKind', id: 'kind_echo' },
      null,
      { __typename: 'Job', id },
      { __typename: 'Tenant', id: 'tenant_default' },
      null,
    ])
    expect(codeOf(await nodes(Array.from({ length: 101 }, () => 'kind_echo')))).toBe('BAD_USER_INPUT')
  })

  test('kinds: own ones and those of other instances', async () => {
    const { data } = await api.run(
      '{ jobKinds { id name inputField retry { maxAttempts base schedule } staleAfter timeout retention defaultRateLimit { rps burst } payloadSchema payloadExample redactedPaths } jobKind(name: "nope") { id } }',
    )
    expect(data.jobKinds.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['echo', 'email_send', 'foreign_kind', 'resize_image']),
    )
    expect(data.jobKinds.find(({ name }: { name: string }) => name === 'email_send')).toMatchObject({
      id: 'kind_email_send',
      inputField: 'emailSend',
      retention: 'P30D',
      defaultRateLimit: { rps: 10, burst: 20 },
      retry: { maxAttempts: 8, base: 'PT30S' },
      payloadSchema: { type: 'object' },
    })
    expect(
      data.jobKinds.find(({ name }: { name: string }) => name === 'foreign_kind').payloadSchema.properties,
    ).toHaveProperty('n')
    expect(data.jobKind).toBeNull()
  })
})
