import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let acme: string
let other: string
beforeAll(async () => {
  api = await testApi({ environment: 'production' })
  acme = await api.tenant('acme')
  other = await api.tenant('other')
})
afterAll(() => api.stop())

const enqueue = (by = admin, tenantId?: string, more: Record<string, unknown> = {}) =>
  api.run(
    'mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { outcome job { id tenant { id key } } errors { __typename code message path ... on NotFoundError { id } ... on ConflictError { job { id } } } } }',
    { input: { job: { custom: { kind: 'echo', payload: {} } }, tenantId, ...more } },
    by,
  )

describe('whose job it becomes', () => {
  test('the only tenant of the caller', async () => {
    const { data } = await enqueue(caller({ tenantIds: [acme] }))
    expect(data.enqueueJob.job.tenant).toEqual({ id: 'tenant_acme', key: 'acme' })
  })
  test('the one that is named, by key, id or node id', async () => {
    for (const name of ['acme', acme, 'tenant_acme'])
      expect((await enqueue(admin, name)).data.enqueueJob.job.tenant.key).toBe('acme')
  })
  test('of several, one has to be named in production', async () => {
    for (const by of [admin, caller({ tenantIds: [acme, other] }), caller({ tenantIds: [] })]) {
      expect((await enqueue(by)).data.enqueueJob).toMatchObject({
        job: null,
        errors: [{ code: 'INVALID', path: ['tenantId'] }],
      })
    }
  })
  test('a foreign tenant is not found, as one that does not exist', async () => {
    for (const name of ['other', 'nobody', 'bad\u0000key']) {
      expect((await enqueue(caller({ tenantIds: [acme] }), name)).data.enqueueJob).toMatchObject({
        job: null,
        errors: [{ __typename: 'NotFoundError', code: 'NOT_FOUND', id: name, path: ['tenantId'] }],
      })
    }
  })
  test('a closed tenant takes no jobs, and says so', async () => {
    const id = await api.tenant('shut')
    await api.sql("update mdm.aa_tenant set status = 'closed' where id = $1", [id])
    expect((await enqueue(admin, 'shut')).data.enqueueJob).toMatchObject({
      job: null,
      errors: [{ code: 'INVALID', path: ['tenantId'], message: expect.stringContaining('closed') }],
    })
  })
})

describe('foreign jobs are not there', () => {
  const stranger = () => caller({ tenantIds: [other] })

  test('in reads, lists, counts, nodes and streams', async () => {
    const { data } = await enqueue(admin, 'acme', { idempotencyKey: 'theirs', tags: ['theirs'] })
    const { id } = data.enqueueJob.job
    const read = await api.run(
      `query ($id: ID!, $event: ID!) { job(id: $id) { id } node(id: $id) { id } nodes(ids: [$id, $event, "tenant_acme", "tenant_other"]) { id }
        jobByIdempotencyKey(kind: "echo", key: "theirs", tenantId: "acme") { id } tenant(id: "acme") { id } tenants { nodes { key } }
        jobs { nodes { id } totalCount { count } } named: jobs(filter: { id: [$id] }) { nodes { id } } ofTenant: jobs(filter: { tenantId: ["acme"] }) { nodes { id } totalCount { count } }
        queued: jobs(filter: { status: [PENDING], tag: ["theirs"] }, orderBy: { field: PRIORITY, direction: ASC }) { nodes { id } totalCount { count } } viewer { tenants { nodes { key } } } }`,
      { id, event: `event_${id.slice(4)}_1` },
      stranger(),
    )
    expect(read.errors).toEqual([])
    const none = { nodes: [], totalCount: { count: 0 } }
    expect(read.data).toEqual({
      job: null,
      node: null,
      nodes: [null, null, null, { id: 'tenant_other' }],
      jobByIdempotencyKey: null,
      tenant: null,
      tenants: { nodes: [{ key: 'other' }] },
      jobs: none,
      named: { nodes: [] },
      ofTenant: none,
      queued: none,
      viewer: { tenants: { nodes: [{ key: 'other' }] } },
    })
    expect(
      (
        await api.run(
          'query ($id: ID!) { job(id: $id) { id } node(id: $id) { id } }',
          { id },
          caller({ tenantIds: [acme] }),
        )
      ).data,
    ).toEqual({ job: { id }, node: { id } })
    const stream = await api.subscribe('subscription ($id: ID!) { job(id: $id) { type } }', { id }, stranger())
    expect(stream).toMatchObject({ errors: [{ originalError: { code: 'NOT_FOUND' } }] })
  })
  test('a key of theirs is free for others', async () => {
    const mine = await enqueue(stranger(), 'other', { idempotencyKey: 'shared key' })
    const theirs = await enqueue(caller({ tenantIds: [acme] }), 'acme', { idempotencyKey: 'shared key' })
    expect([mine, theirs].map(({ data }) => data.enqueueJob.outcome)).toEqual(['CREATED', 'CREATED'])
  })
})

describe('createTenant', () => {
  const create = (input: Record<string, unknown>, by = admin) =>
    api.run(
      'mutation ($input: CreateTenantInput!) { createTenant(input: $input) { tenant { id key name active weight } errors { code path message } } }',
      { input },
      by,
    )

  test('makes a tenant with the default limits of the kinds, and a journal row', async () => {
    const { data } = await create({ key: 'fresh', name: 'Fresh & Co' })
    expect(data.createTenant).toEqual({
      tenant: { id: 'tenant_fresh', key: 'fresh', name: 'Fresh & Co', active: true, weight: 1 },
      errors: [],
    })
    const [row] = await api.sql('select id, metadata from mdm.aa_tenant where tenant_key = $1', ['fresh'])
    expect(row!['metadata']).toEqual({ rate_limit: { email_send: { rps: 10, burst: 20 } } })
    expect(
      await api.sql('select action, actor_principal_id as actor, payload from mdm.aa_audit_log where tenant_id = $1', [
        row!['id'],
      ]),
    ).toMatchObject([{ action: 'tenant_change', actor: 'user:ada', payload: { change: 'created', key: 'fresh' } }])
    expect((await enqueue(admin, 'fresh')).data.enqueueJob.outcome).toBe('CREATED')
  })
  test.each([['Upper'], ['-a'], [''], ['a b'], ['x'.repeat(64)], ['a\u0000']])('refuses the key %j', async (key) => {
    expect((await create({ key, name: 'N' })).data.createTenant).toMatchObject({
      tenant: null,
      errors: [{ code: 'INVALID', path: ['key'] }],
    })
  })
  test('refuses a key that is taken, and a name that is none', async () => {
    expect((await create({ key: 'acme', name: 'N' })).data.createTenant).toMatchObject({
      tenant: null,
      errors: [{ code: 'INVALID', path: ['key'] }],
    })
    expect((await create({ key: 'ok', name: '' })).data.createTenant).toMatchObject({ errors: [{ path: ['name'] }] })
  })
  test('needs OPERATE_PLATFORM', async () => {
    expect(codeOf(await create({ key: 'x', name: 'x' }, caller({ tenantIds: 'all', may: ['MANAGE_METADATA'] })))).toBe(
      'FORBIDDEN',
    )
  })
})

test('tenants in pages, narrowed by a part of key or name', async () => {
  const page = async (variables: Record<string, unknown>) =>
    (
      await api.run(
        'query ($search: String, $first: Int! = 20, $after: String) { tenants(search: $search, first: $first, after: $after) { nodes { key } pageInfo { hasNextPage endCursor } } }',
        variables,
      )
    ).data.tenants
  const all = (await page({})).nodes.map(({ key }: { key: string }) => key)
  const first = await page({ first: 3 })
  const rest = await page({ first: 100, after: first.pageInfo.endCursor })
  expect([...first.nodes, ...rest.nodes].map(({ key }) => key)).toEqual(all)
  expect((await page({ search: 'CME' })).nodes).toEqual([{ key: 'acme' }])
})
