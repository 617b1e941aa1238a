import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startService, type Service } from '../support/service.ts'
import { ask, post, type Answer } from './ask.ts'

const json = 'application/json'
const day = 24 * 60 * 60 * 1_000
const enqueueJob = `mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { outcome job { id }
  errors { __typename code message path ... on ValidationError { pointer keyword } } } }`

let home: string
let database: TestDatabase
let service: Service
let before: Counts

/** The rows that a bad input must not add to. */
interface Counts {
  readonly jobs: number
  readonly journal: number
  readonly tenants: number
  readonly keys: number
}

async function counts(): Promise<Counts> {
  const [row] = await database.sql<Counts & Record<string, unknown>>(`
    select (select count(*)::int from mdm.aa_job) as jobs, (select count(*)::int from mdm.aa_audit_log) as journal,
           (select count(*)::int from mdm.aa_tenant) as tenants, (select count(*)::int from mdm.aa_api_key) as keys`)
  return row!
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'stellwerk bad input '))
  database = await testDatabase()
  const kinds = join(home, 'kinds.ts')
  await writeFile(
    kinds,
    `import { defineKind, z } from 'stellwerk'
     const run = async () => {}
     export const kinds = [
       defineKind({ name: 'anything', payload: z.looseObject({}), run }),
       defineKind({ name: 'resize_image', payload: z.strictObject({ url: z.url(), width: z.int().min(1).optional() }), example: { url: 'https://a.b' }, run }),
     ]`,
  )
  // Without workers, so that nothing but the calls writes.
  service = startService({
    dataDir: join(home, 'data'),
    settings: {
      DATABASE_URL: database.url,
      STELLWERK_ENV: 'development',
      STELLWERK_KINDS: kinds,
      STELLWERK_WORKERS: '0',
    },
  })
  await service.started()
})
afterAll(async () => {
  service.signal('SIGKILL')
  await service.exited
  await database.drop()
  await rm(home, { recursive: true })
})
beforeEach(async () => {
  before = await counts()
})

/** Nothing was written, and nothing leaves the house: no value of the caller's, no SQL, no place in the code. */
async function expectHarmless(text: string): Promise<void> {
  expect(await counts()).toEqual(before)
  expect(service.runs()).toBe(true)
  expect(text).not.toMatch(/swordfish|\bmdm\.|aa_job|\bselect \w|\binsert into|node_modules|\.ts\b|\/tmp\//)
  expect(service.output()).not.toContain('swordfish')
}

/** A mutation that must answer with one error in its payload. */
async function expectRefused(input: object, expected: object): Promise<void> {
  const answer = await ask(service, enqueueJob, { input })
  expect(answer).toMatchObject({ status: 200, errors: [], data: { enqueueJob: { outcome: null, job: null } } })
  expect(answer.data.enqueueJob.errors).toEqual([expect.objectContaining(expected)])
  await expectHarmless(answer.text)
}

async function expectAccepted(input: object): Promise<void> {
  const answer = await ask(service, enqueueJob, { input })
  expect(answer.data?.enqueueJob, answer.text).toMatchObject({ outcome: 'CREATED', errors: [] })
}

/** A call that must be refused as a whole. */
async function expectRefusal(answer: Answer, status: number, code: string, message: RegExp): Promise<void> {
  expect(answer).toMatchObject({ status, errors: [{ message: expect.stringMatching(message), extensions: { code } }] })
  expect(answer.errors[0]!.extensions['requestId']).toEqual(expect.stringMatching(/\S/))
  await expectHarmless(answer.text)
}

const custom = (kind: string, payload: unknown) => ({ job: { custom: { kind, payload } } })
const anything = (more: object = {}) => ({ ...custom('anything', {}), ...more })
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) })
/** A payload of so many bytes as JSON. */
const payloadOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })

describe('a payload', () => {
  test.for([
    {
      what: 'of an unknown kind',
      kind: 'resize_imgae',
      payload: {},
      says: { message: expect.stringContaining('Did you mean resize_image?'), path: ['job', 'custom', 'kind'] },
    },
    {
      what: 'of a kind named by SQL',
      kind: `x'; drop table mdm.aa_job; --`,
      payload: {},
      // No guess where none is likely.
      says: { message: 'There is no kind of this name. The query jobKinds lists all.' },
    },
    {
      what: 'without what is required',
      kind: 'resize_image',
      payload: {},
      says: { pointer: '/url', keyword: 'required' },
    },
    {
      what: 'of another type',
      kind: 'resize_image',
      payload: { url: 'https://a.b', width: 'swordfish' },
      says: { pointer: '/width', keyword: 'type' },
    },
    {
      what: 'below its minimum',
      kind: 'resize_image',
      payload: { url: 'https://a.b', width: 0 },
      says: { pointer: '/width', keyword: 'minimum' },
    },
    {
      what: 'of another format',
      kind: 'resize_image',
      payload: { url: 'swordfish' },
      says: { pointer: '/url', keyword: 'format' },
    },
    {
      what: 'with an unknown name',
      kind: 'resize_image',
      payload: { url: 'https://a.b', 'a/b': 1 },
      says: {
        pointer: '/a~1b',
        keyword: 'additionalProperties',
        message: '/a~1b is not known here. Leave it out or look for a spelling mistake.',
      },
    },
    { what: 'that is a list', kind: 'anything', payload: ['swordfish'], says: { pointer: '', keyword: 'type' } },
    {
      what: 'with NUL',
      kind: 'anything',
      payload: { deep: ['swordfish\0'] },
      says: { pointer: '/deep/0', message: expect.stringContaining('NUL') },
    },
    {
      what: 'with NUL in a name',
      kind: 'anything',
      payload: { deep: { 'swordfish\0': 1 } },
      says: { pointer: '/deep', keyword: 'propertyNames' },
    },
    {
      what: 'with half a character',
      kind: 'anything',
      payload: { a: 'swordfish \ud83d' },
      says: { pointer: '/a', message: expect.stringContaining('surrogate') },
    },
    {
      what: 'with half a character in a name',
      kind: 'anything',
      payload: { '\udc00': 1 },
      says: { pointer: '', keyword: 'propertyNames' },
    },
    {
      what: 'of 64 KiB and 1 byte',
      kind: 'anything',
      payload: payloadOf(65_537),
      says: { message: expect.stringMatching(/65,537 bytes.*64 KiB/) },
    },
    {
      what: 'of 33 levels',
      kind: 'anything',
      payload: nested(33),
      says: { message: expect.stringContaining('32 levels') },
    },
  ])('$what', async ({ kind, payload, says }) => {
    await expectRefused(custom(kind, payload), { __typename: 'ValidationError', code: 'INVALID', ...says })
  })

  test('D04: of 6,000 nested lists', async () => {
    const body = `{"query":${JSON.stringify(enqueueJob)},"variables":{"input":{"job":{"custom":{"kind":"anything","payload":{"a":${'['.repeat(6_000)}${']'.repeat(6_000)}}}}}}}`
    const answer = await post(service, body, { 'content-type': json, authorization: `Bearer ${await service.token()}` })
    expect(answer.data.enqueueJob.errors).toEqual([
      expect.objectContaining({ code: 'INVALID', message: expect.stringContaining('32 levels') }),
    ])
    await expectHarmless(answer.text)
  })

  test('just inside is taken, and comes back as it was', async () => {
    await expectAccepted(custom('anything', payloadOf(65_536)))
    await expectAccepted(custom('anything', nested(32)))
    const payload = { emoji: '😀', name: 'Ä\u2028', '': [null, true, 1.5] }
    const { data } = await ask(
      service,
      `mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { job { payload } } }`,
      {
        input: custom('anything', payload),
      },
    )
    expect(data.enqueueJob.job.payload).toEqual(payload)
  })

  test('one bad job of many: all or none', async () => {
    const { data, text } = await ask(
      service,
      `mutation ($jobs: [EnqueueJobInput!]!) { enqueueJobs(input: { jobs: $jobs }) { created errors { message } results { outcome errors { code path } } } }`,
      { jobs: [anything(), anything({ priority: 1_001 }), anything()] },
    )
    expect(data.enqueueJobs.created).toBe(0)
    expect(data.enqueueJobs.results[1].errors).toEqual([{ code: 'INVALID', path: ['jobs', '1', 'priority'] }])
    await expectHarmless(text)
  })
})

describe('what stands around it', () => {
  const inDays = (days: number) => ({ at: new Date(Date.now() + days * day).toISOString() })

  test.for([
    { field: 'priority', inside: [0, 1_000], outside: [-1, 1_001], says: /0 to 1,000/ },
    { field: 'maxAttempts', inside: [1, 100], outside: [0, 101], says: /1 to 100/ },
    {
      field: 'idempotencyKey',
      inside: ['k', '😀'.repeat(255)],
      outside: ['', 'k'.repeat(256), 'swordfish\0', 'swordfish\ud83d'],
      says: /255 characters|NUL|surrogate/,
    },
    {
      field: 'correlationId',
      inside: ['c', 'c'.repeat(200)],
      outside: ['c'.repeat(201), 'swordfish\0'],
      says: /200 characters|NUL/,
    },
    {
      field: 'tags',
      inside: [[], Array(16).fill('t'), ['t'.repeat(64)]],
      outside: [Array(17).fill('t'), ['t'.repeat(65)], [''], ['swordfish\0']],
      says: /16 tags|64 characters|NUL/,
    },
    {
      field: 'schedule',
      inside: [{ after: 'PT0S' }, { after: 'P366D' }, inDays(365.9), { at: '1970-01-01T00:00:00Z' }],
      outside: [{ after: 'P366DT1S' }, inDays(366.1)],
      says: /366 days/,
    },
  ])('$field', async ({ field, inside, outside, says }) => {
    for (const value of inside) await expectAccepted(anything({ [field]: value }))
    before = await counts()
    for (const value of outside)
      await expectRefused(anything({ [field]: value }), { code: 'INVALID', message: expect.stringMatching(says) })
  })

  test('a tenant that is not there', async () => {
    for (const tenantId of ['nowhere', `'; drop table mdm.aa_tenant; --`, 'swordfish\0'])
      await expectHarmlessTenant(tenantId)
  })

  async function expectHarmlessTenant(tenantId: string): Promise<void> {
    const answer = await ask(service, enqueueJob, { input: anything({ tenantId }) })
    expect(answer.data.enqueueJob.errors).toEqual([expect.objectContaining({ code: 'NOT_FOUND', path: ['tenantId'] })])
    expect(await counts()).toEqual(before)
  }

  test('a tenant to make', async () => {
    const create = (key: string, name = 'A tenant') =>
      ask(
        service,
        `mutation ($key: String!, $name: String!) { createTenant(input: { key: $key, name: $name }) { tenant { key } errors { code path message } } }`,
        { key, name },
      )
    expect((await create('k'.repeat(63))).data.createTenant).toMatchObject({
      tenant: { key: 'k'.repeat(63) },
      errors: [],
    })
    before = await counts()
    for (const key of ['', 'k'.repeat(64), 'Swordfish', 'a b', '-a', 'platform', 'a\0']) {
      const answer = await create(key)
      expect(answer.data.createTenant, key).toMatchObject({
        tenant: null,
        errors: [{ code: 'INVALID', path: ['key'] }],
      })
      await expectHarmless(answer.text)
    }
    for (const name of ['', 'n'.repeat(201), 'swordfish\0', '\udc00'])
      expect((await create('fine', name)).data.createTenant).toMatchObject({
        tenant: null,
        errors: [{ code: 'INVALID', path: ['name'] }],
      })
    expect(await counts()).toEqual(before)
  })

  test('times and numbers that are none', async () => {
    const values = [
      { schedule: { at: '1969-12-31T23:59:59Z' } },
      { schedule: { at: '2200-01-01T00:00:01Z' } },
      { schedule: { at: '+300000-01-01T00:00:00Z' } },
      { schedule: { at: '2026-02-30' } },
      { schedule: { at: '' } },
      { schedule: { after: 'swordfish' } },
      { schedule: { after: '-PT1S' } },
      { schedule: { at: '2027-01-01T00:00:00Z', after: 'PT1S' } },
      { priority: 2 ** 31 },
      { priority: 1.5 },
      { priority: 'swordfish' },
      { prioritaet: 1 },
    ]
    for (const value of values)
      await expectRefusal(await ask(service, enqueueJob, { input: anything(value) }), 400, 'BAD_USER_INPUT', /\S/)
  })
})

describe('who is calling', () => {
  const token = async (claims: Record<string, unknown>, secret?: string): Promise<string> => {
    const key = secret ?? (await readFile(join(service.dataDir, 'jwt.secret'), 'utf8')).trim()
    return new SignJWT({
      aud: 'stellwerk',
      sub: 'ada',
      tenants: '*',
      exp: Math.floor(Date.now() / 1_000) + 600,
      ...claims,
    })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(key))
  }
  const call = (bearer: string | null) => ask(service, enqueueJob, { input: anything() }, bearer)

  test('nobody, or nobody known', async () => {
    await expectRefusal(await call(null), 401, 'UNAUTHENTICATED', /\S/)
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"sub":"swordfish"}').toString('base64url')}.`
    for (const bad of [
      'swordfish',
      'sw_swordfish',
      'a.b.c',
      unsigned,
      'x'.repeat(15_000),
      await token({}, 'another secret, also long enough'),
    ])
      await expectRefusal(await call(bad), 401, 'UNAUTHENTICATED', /\S/)
    const basic = await post(service, JSON.stringify({ query: '{ viewer { principal { id } } }' }), {
      'content-type': json,
      authorization: 'Basic swordfish',
    })
    await expectRefusal(basic, 401, 'UNAUTHENTICATED', /Bearer <token>/)
  })

  test('with headers that are too long', async () => {
    const answer = await call('x'.repeat(20_000))
    expect(answer).toMatchObject({ status: 431, errors: [{ message: expect.stringContaining('larger than 16 KiB') }] })
    await expectHarmless(answer.text)
  })

  test('with a token past its time, or one that says too little', async () => {
    await expectRefusal(
      await call(await token({ exp: Math.floor(Date.now() / 1_000) - 61 })),
      401,
      'TOKEN_EXPIRED',
      /expired/,
    )
    for (const claims of [
      { aud: 'swordfish' },
      { sub: undefined },
      { exp: undefined },
      { kind: 'robot' },
      { tenants: 'default' },
    ])
      await expectRefusal(await call(await token(claims)), 401, 'UNAUTHENTICATED', /\S/)
  })

  test('without the scope', async () => {
    await expectRefusal(await call(await token({ scope: 'read_jobs' })), 403, 'FORBIDDEN', /ENQUEUE_JOBS/)
    await expectRefusal(
      await ask(service, '{ jobs { nodes { id } } }', {}, await token({ scope: 'enqueue_jobs' })),
      403,
      'FORBIDDEN',
      /READ_JOBS/,
    )
  })

  test('for no tenant, or another one', async () => {
    for (const claims of [{ tenants: [] }, { tenants: ['nowhere'] }]) {
      const { data } = await call(await token({ scope: 'enqueue_jobs', ...claims }))
      expect(data.enqueueJob.errors).toHaveLength(1)
    }
    expect(await counts()).toEqual(before)
  })
})

describe('a request', () => {
  const send = async (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    post(service, body, { 'content-type': json, authorization: `Bearer ${await service.token()}`, ...headers })
  const mutation = `mutation { enqueueJob(input: { job: { custom: { kind: "anything", payload: { a: "swordfish" } } } }) { outcome } }`

  test.for([
    { what: 'text/plain', type: 'text/plain' },
    { what: 'a form', type: 'application/x-www-form-urlencoded' },
    { what: 'parts', type: 'multipart/form-data; boundary=x' },
    { what: 'GraphQL itself', type: 'application/graphql' },
  ])('G03: as $what', async ({ type }) => {
    await expectRefusal(
      await send(JSON.stringify({ query: mutation }), { 'content-type': type }),
      415,
      'BAD_USER_INPUT',
      /content-type: application\/json/,
    )
  })

  test.for([
    { what: 'that is empty', body: '' },
    { what: 'that is no JSON', body: '{"query": swordfish' },
    { what: 'that is null', body: 'null' },
    { what: 'that is a text', body: '"swordfish"' },
    { what: 'that is a list', body: `[{"query":"${'{ viewer { principal { id } } }'}"}]` },
    { what: 'without a query', body: '{}' },
    { what: 'whose query is a number', body: '{"query":7}' },
    { what: 'whose variables are a text', body: '{"query":"{ viewer { principal { id } } }","variables":"swordfish"}' },
    {
      what: 'whose operation is not there',
      body: '{"query":"query a { viewer { principal { id } } }","operationName":"swordfish"}',
    },
  ])('with a body $what', async ({ body }) => {
    const answer = await send(body)
    expect(answer).toMatchObject({ status: 400, errors: [{ message: expect.stringMatching(/\S/) }] })
    expect(answer.errors[0]!.extensions['code']).toMatch(/^(BAD_USER_INPUT|GRAPHQL_\w+_FAILED)$/)
    await expectHarmless(answer.text)
  })

  test('that is no UTF-8', async () => {
    const body = Buffer.from(JSON.stringify({ query: mutation.replace('swordfish', '\xff') }), 'latin1')
    await expectRefusal(await send(new Uint8Array(body)), 400, 'BAD_USER_INPUT', /UTF-8/)
  })

  test('D07: of 2 MiB', async () => {
    await expectRefusal(
      await send(JSON.stringify({ query: mutation, variables: { a: 'x'.repeat(2 << 20) } })),
      413,
      'BAD_USER_INPUT',
      /larger than 1048576 bytes/,
    )
  })

  test('that is no GraphQL, or asks for what is not there', async () => {
    await expectRefusal(await send('{"query":"{ viewer "}'), 400, 'GRAPHQL_PARSE_FAILED', /Syntax Error/)
    await expectRefusal(
      await ask(service, '{ veiwer { id } }'),
      400,
      'GRAPHQL_VALIDATION_FAILED',
      /Did you mean "viewer"/,
    )
    await expectRefusal(await ask(service, enqueueJob), 400, 'BAD_USER_INPUT', /\$input/)
    const many = Array.from({ length: 21 }, (_, i) => `v${i}: viewer { principal { id } }`).join(' ')
    await expectRefusal(
      await ask(service, `{ ${many} }`),
      400,
      'GRAPHQL_VALIDATION_FAILED',
      /more than 20 fields at its root/,
    )
  })

  test('G05: for an object by an id that is none', async () => {
    for (const id of ['', 'swordfish', 'job_swordfish', `' or 1=1 --`, 'a\0b', '\ud83d', 'x'.repeat(100_000)]) {
      const answer = await ask(
        service,
        'query ($id: ID!) { job(id: $id) { id } node(id: $id) { id } tenant(id: $id) { id } }',
        { id },
      )
      expect(answer.status, answer.text).toBeLessThan(500)
      expect(answer.data ?? {}).toEqual(answer.data === null ? {} : { job: null, node: null, tenant: null })
      await expectHarmless(answer.text)
    }
  })

  test('for a page that cannot be', async () => {
    const jobs =
      'query ($first: Int, $after: String, $filter: JobFilter) { jobs(first: $first, after: $after, filter: $filter) { nodes { id } } }'
    for (const variables of [
      { first: -1 },
      { first: 101 },
      { first: 2 ** 31 - 1 },
      { first: 2 ** 31 },
      { after: 'swordfish' },
      { after: '\0' },
      { filter: { kind: ['swordfish\0'] } },
      { filter: { id: ['swordfish'] } },
      { filter: { tenantId: ['nowhere'] } },
      { filter: { errorText: '\ud83d' } },
      { filter: { payload: { a: '\0' } } },
      { filter: { createdAt: { from: '+300000-01-01T00:00:00Z' } } },
    ]) {
      const answer = await ask(service, jobs, variables)
      expect(answer.status, `${JSON.stringify(variables)}: ${answer.text}`).toBeLessThan(500)
      await expectHarmless(answer.text)
    }
    expect((await ask(service, jobs, { first: 0 })).status).toBeLessThan(500)
  })
})
