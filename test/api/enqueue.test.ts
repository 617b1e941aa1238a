import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
beforeAll(async () => {
  api = await testApi()
})
afterAll(() => api.stop())

const enqueue = `mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) {
  outcome
  job { id status priority maxAttempts attemptCount revision payload payloadText tags correlationId traceId idempotencyKey availableAt createdAt
    kind { name } tenant { key } enqueuedBy { id kind } streamCursor }
  errors { __typename code message path ... on ValidationError { pointer keyword } ... on ConflictError { job { id } } ... on NotFoundError { id } }
} }`

const one = async (input: Record<string, unknown>, by = admin) => {
  const { data, errors } = await api.run(enqueue, { input }, by)
  expect(errors).toEqual([])
  return data.enqueueJob
}
const custom = (payload: unknown, more: Record<string, unknown> = {}, kind = 'echo') => ({
  job: { custom: { kind, payload } },
  ...more,
})

describe('a job is enqueued', () => {
  test('with all that was said of it, and what it answers is what is stored', async () => {
    const said = {
      priority: 7,
      maxAttempts: 3,
      tags: ['a', 'b "c"'],
      correlationId: 'order 5',
      idempotencyKey: 'all of it',
    }
    const { outcome, job, errors } = await one(custom({ b: 1, a: { emoji: '😀' } }, said))
    expect({ outcome, errors }).toEqual({ outcome: 'CREATED', errors: [] })
    expect(job).toMatchObject({
      status: 'PENDING',
      attemptCount: 0,
      revision: 1,
      kind: { name: 'echo' },
      tenant: { key: 'default' },
      enqueuedBy: { id: 'ada', kind: 'USER' },
      traceId: '0af7651916cd43dd8448eb211c80319c',
      payload: { a: { emoji: '😀' }, b: 1 },
      ...said,
    })
    const read = await api.run(
      `query ($id: ID!) { job(id: $id) { id status priority maxAttempts attemptCount revision payload payloadText tags
      correlationId traceId idempotencyKey availableAt createdAt kind { name } tenant { key } enqueuedBy { id kind } streamCursor } }`,
      { id: job.id },
    )
    expect(read.data.job).toEqual(job)
  })

  test('typed, and stored in snake_case with lower-case enum values', async () => {
    const emailSend = {
      to: { address: 'ada@example.org' },
      content: { subject: 'Hello', text: 'You.' },
      replyTo: { address: 'b@example.org', name: null },
      category: 'BULK',
      onUnknown: 'HOLD',
    }
    const { job } = await one({ job: { emailSend } })
    expect(job.payload).toEqual({
      to: { address: 'ada@example.org' },
      content: { subject: 'Hello', text: 'You.' },
      reply_to: { address: 'b@example.org' },
      category: 'bulk',
      on_unknown: 'hold',
    })
    expect(job).toMatchObject({ kind: { name: 'email_send' }, priority: 50 })
  })

  test('after a time by the clock of the database', async () => {
    const { job } = await one(custom({}, { schedule: { after: 'PT1H' } }))
    expect(Date.parse(job.availableAt) - Date.parse(job.createdAt)).toBe(3_600_000)
    const at = '2027-03-01T12:00:00.123Z'
    expect((await one(custom({}, { schedule: { at } }))).job.availableAt).toBe(at)
  })

  test('with one journal row that says who and in which request', async () => {
    const { job } = await one(custom({ journal: true }))
    const rows = await api.sql(
      'select action, actor_principal_id as actor, request_id from mdm.aa_audit_log where job_id = $1',
      [job.id.slice(4)],
    )
    expect(rows).toEqual([
      { action: 'job_enqueued', actor: 'user:ada', request_id: expect.stringMatching(/^request-/) },
    ])
  })

  test('a wake-up follows the commit', async () => {
    let heard = 0
    const off = api.deps.wakeup.on('work', () => (heard += 1))
    await one(custom({}))
    off()
    expect(heard).toBe(1)
  })
})

describe('idempotency', () => {
  test('50 calls at once with one key make one job, one row in the journal', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => one(custom({ n: 1 }, { idempotencyKey: 'fifty' }))),
    )
    expect(new Set(answers.map(({ job }) => job.id)).size).toBe(1)
    expect(answers.map(({ outcome }) => outcome).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'CREATED',
      ...Array.from({ length: 49 }, () => 'DUPLICATE'),
    ])
    const id = answers[0].job.id.slice(4)
    expect(await api.sql('select count(*)::int as n from mdm.aa_job where idempotency_key = $1', ['fifty'])).toEqual([
      { n: 1 },
    ])
    expect(await api.sql('select count(*)::int as n from mdm.aa_audit_log where job_id = $1', [id])).toEqual([{ n: 1 }])
  })

  test('the same key with another payload: the old job, and a conflict', async () => {
    const first = await one(custom({ n: 1 }, { idempotencyKey: 'mismatch' }))
    const again = await one(custom({ n: 2 }, { idempotencyKey: 'mismatch' }))
    expect(again).toMatchObject({
      outcome: 'DUPLICATE',
      job: { id: first.job.id, payload: { n: 1 } },
      errors: [
        {
          __typename: 'ConflictError',
          code: 'IDEMPOTENCY_MISMATCH',
          path: ['idempotencyKey'],
          job: { id: first.job.id },
        },
      ],
    })
  })

  test('payloads are the same whatever the order of names (D06)', async () => {
    await one(custom({ a: 1, b: 2.5 }, { idempotencyKey: 'canonical' }))
    expect(await one(custom({ b: 2.5, a: 1 }, { idempotencyKey: 'canonical' }))).toMatchObject({
      outcome: 'DUPLICATE',
      errors: [],
    })
  })

  test('UPDATE replaces payload, priority and time while the job is pending, and leaves it alone afterwards', async () => {
    const input = (n: number) => custom({ n }, { idempotencyKey: 'update', onConflict: 'UPDATE', priority: n })
    const first = await one(input(1))
    expect(await one(input(2))).toMatchObject({
      outcome: 'UPDATED',
      job: { id: first.job.id, payload: { n: 2 }, priority: 2, revision: 2 },
      errors: [],
    })
    await api.sql("update mdm.aa_job set status = 'done' where id = $1", [first.job.id.slice(4)])
    expect(await one(input(3))).toMatchObject({
      outcome: 'DUPLICATE',
      job: { payload: { n: 2 }, status: 'DONE' },
      errors: [{ code: 'IDEMPOTENCY_MISMATCH' }],
    })
  })

  test('rows of several callers share a statement and keep their own actor and request', async () => {
    const by = (id: string) => ({ ...admin, principal: { id, name: null, kind: 'SERVICE' as const } })
    const jobs = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        one(custom({ i }, i % 2 ? { idempotencyKey: `shared ${i}`, onConflict: 'UPDATE' } : {}), by(`caller-${i}`)),
      ),
    )
    const updates = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        one(custom({ i: -i }, i % 2 ? { idempotencyKey: `shared ${i}`, onConflict: 'UPDATE' } : {}), by(`other-${i}`)),
      ),
    )
    const actors = async (job: { id: string }) =>
      (
        await api.sql<{ actor: string }>(
          'select actor_principal_id as actor from mdm.aa_audit_log where job_id = $1 order by revision',
          [job.id.slice(4)],
        )
      ).map(({ actor }) => actor)
    for (const [i, { job }] of jobs.entries()) {
      expect(await actors(job)).toEqual(i % 2 ? [`service:caller-${i}`, `service:other-${i}`] : [`service:caller-${i}`])
    }
    expect(updates.map(({ outcome }) => outcome)).toEqual(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? 'UPDATED' : 'CREATED')),
    )
    const requests = await api.sql(
      'select distinct request_id from mdm.aa_audit_log where actor_principal_id like $1',
      ['service:caller-%'],
    )
    expect(requests).toHaveLength(20)
  })
})

describe('many at once', () => {
  const many = async (jobs: unknown[], atomic: boolean) => {
    const { data, errors } = await api.run(
      `mutation ($input: EnqueueJobsInput!) { enqueueJobs(input: $input) { created errors { __typename code path ... on LimitError { limit actual } }
        results { outcome job { id payload } errors { code path message ... on ValidationError { pointer keyword } ... on ConflictError { job { id } } } } } }`,
      { input: { jobs, atomic } },
    )
    expect(errors).toEqual([])
    return data.enqueueJobs
  }
  const countOf = async (tag: string) =>
    (await api.sql('select count(*)::int as n from mdm.aa_job where tags @> array[$1]', [tag]))[0]!.n

  test.each([
    ['without keys', []],
    ['among keys that are there, and twins', [2, 5]],
  ])('of several tenants and kinds, %s: each answer is what is stored', async (_, known) => {
    const acme = await api.tenant(`acme-${known.length}`)
    const keyed = known.length > 0
    const given = [
      custom({ text: 'two\nlines', 'a name': 1 }, { tenantId: acme }),
      {
        job: {
          emailSend: { to: { address: 'ada@example.org' }, content: { subject: 'n', text: 'n' }, category: 'BULK' },
        },
      },
      custom({ n: 1e21 }, { priority: 3, ...(keyed && { idempotencyKey: 'known 2' }) }),
      custom({ n: 3 }, { schedule: { after: 'PT1H' }, maxAttempts: 2, ...(keyed && { idempotencyKey: 'new' }) }),
      custom(
        { n: 4 },
        { schedule: { at: new Date(Date.now() + 60_000).toISOString() }, tags: ['late'], tenantId: acme },
      ),
      custom({ n: 5 }, keyed ? { idempotencyKey: 'known 5' } : {}),
      custom({ n: 3 }, keyed ? { idempotencyKey: 'new' } : {}),
      custom({ n: 7 }, { correlationId: 'last' }),
    ]
    for (const i of known) await one(given[i]!)
    const fields = `id priority maxAttempts payload payloadText tags correlationId idempotencyKey availableAt createdAt status revision
      kind { name } tenant { key } enqueuedBy { id kind }`
    const { data, errors } = await api.run(
      `mutation ($input: EnqueueJobsInput!) { enqueueJobs(input: $input) { results { outcome job { ${fields} } } } }`,
      { input: { jobs: given, atomic: false } },
    )
    expect(errors).toEqual([])
    const results = data.enqueueJobs.results as { outcome: string; job: { id: string; payload: object } }[]
    expect(results.map(({ outcome }) => outcome)).toEqual(
      given.map((_input, i) => (known.includes(i) || (keyed && i === 6) ? 'DUPLICATE' : 'CREATED')),
    )
    expect(results.slice(2).map(({ job }) => job.payload)).toEqual([1e21, 3, 4, 5, 3, 7].map((n) => ({ n })))
    for (const { job } of results) {
      expect((await api.run(`query ($id: ID!) { job(id: $id) { ${fields} } }`, { id: job.id })).data.job).toEqual(job)
    }
    const born = await api.sql<{ id: string }>(
      `select job_id as id from mdm.aa_audit_log where action = 'job_enqueued' and job_id = any ($1) order by id`,
      [results.map(({ job }) => job.id.slice(4))],
    )
    const late = results.filter(({ outcome }) => outcome === 'CREATED').map(({ job }) => job.id.slice(4))
    expect(born.map(({ id }) => id).slice(known.length)).toEqual(late)
  })
  test('1,000 in order', async () => {
    const { created, results } = await many(
      Array.from({ length: 1_000 }, (_, n) => custom({ n })),
      true,
    )
    expect(created).toBe(1_000)
    expect(results.map(({ job }: { job: { payload: { n: number } } }) => job.payload.n)).toEqual(
      Array.from({ length: 1_000 }, (_, n) => n),
    )
  })
  test('atomic: one bad one and none goes in', async () => {
    const jobs = [
      custom({}, { tags: ['atomic'] }),
      custom({ url: 'no' }, { tags: ['atomic'] }, 'resize_image'),
      custom({}, { tags: ['atomic'] }),
    ]
    const { created, results, errors } = await many(jobs, true)
    expect(created).toBe(0)
    expect(errors).toMatchObject([{ code: 'INVALID', path: ['jobs'] }])
    expect(results).toMatchObject([
      { outcome: null, errors: [] },
      {
        outcome: null,
        errors: [{ path: ['jobs', '1', 'job', 'custom', 'payload'], pointer: '/url', keyword: 'format' }],
      },
      { job: null },
    ])
    expect(await countOf('atomic')).toBe(0)
  })
  test('atomic: what only the database refuses', async () => {
    const closed = await api.tenant('closed')
    await api.sql("update mdm.aa_tenant set status = 'closed' where id = $1", [closed])
    const { created, results } = await many(
      [custom({}, { tags: ['closed'] }), custom({}, { tenantId: 'closed' })],
      true,
    )
    expect({ created, results }).toMatchObject({
      created: 0,
      results: [{ errors: [] }, { errors: [{ code: 'INVALID', path: ['jobs', '1', 'tenantId'] }] }],
    })
    expect(await countOf('closed')).toBe(0)
  })
  test('atomic: a key that exists with another payload holds all back', async () => {
    const { job } = await one(custom({ n: 1 }, { idempotencyKey: 'bulk key' }))
    const { created, results } = await many(
      [custom({}, { tags: ['held'] }), custom({ n: 2 }, { idempotencyKey: 'bulk key' })],
      true,
    )
    expect({ created, results }).toMatchObject({
      created: 0,
      results: [
        { job: null },
        { outcome: 'DUPLICATE', job: { id: job.id }, errors: [{ code: 'IDEMPOTENCY_MISMATCH' }] },
      ],
    })
    expect(await countOf('held')).toBe(0)
  })
  test('not atomic: good ones go in, bad ones get their errors', async () => {
    const { created, results } = await many(
      [
        custom({}, { tags: ['each'] }),
        custom([1]),
        custom({}, { tenantId: 'closed' }),
        custom({}, { tags: ['each'], priority: -1 }),
        custom({}, { tags: ['each'] }),
      ],
      false,
    )
    expect(created).toBe(2)
    expect(
      results.map(({ outcome, errors }: { outcome: string; errors: unknown[] }) => [outcome, errors.length]),
    ).toEqual([
      ['CREATED', 0],
      [null, 1],
      [null, 1],
      [null, 1],
      ['CREATED', 0],
    ])
    expect(await countOf('each')).toBe(2)
  })
  test('none, or more than 1,000', async () => {
    expect(await many([], true)).toMatchObject({ results: [], errors: [{ code: 'INVALID', path: ['jobs'] }] })
    expect(
      await many(
        Array.from({ length: 1_001 }, () => custom({})),
        true,
      ),
    ).toMatchObject({
      created: 0,
      errors: [{ __typename: 'LimitError', code: 'LIMIT_EXCEEDED', limit: 1_000, actual: 1_001 }],
    })
  })
  test('equal keys in one call: the first makes the job', async () => {
    const { results } = await many(
      [1, 1, 2].map((n) => custom({ n: 1, last: n === 2 ? undefined : 0 }, { idempotencyKey: 'twins' })).slice(0, 2),
      true,
    )
    expect(results.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['CREATED', 'DUPLICATE'])
    expect(results[0].job.id).toBe(results[1].job.id)
  })
})

describe('bad input', () => {
  const nested = (levels: number): unknown => (levels === 1 ? {} : { a: nested(levels - 1) })
  const deepText = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`) as unknown

  test.each([
    ['NUL in a text', { a: { b: 'x\u0000' } }, '/a/b', null],
    ['NUL in a name', { a: { 'x\u0000': 1 } }, '/a', 'propertyNames'],
    ['half a surrogate pair in a text', { a: ['ok', '\ud83d'] }, '/a/1', null],
    ['half a surrogate pair in a name', { '\udc00': 1 }, '', 'propertyNames'],
    ['a list', [1], '', 'type'],
    ['a text', 'x', '', 'type'],
    ['33 levels', nested(33), '/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a', null],
    ['100,000 levels', deepText(100_000), '/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a', null],
    ['64 KiB and more', { text: 'x'.repeat(65_536) }, '', null],
  ])('D01, D04: payload: %s', async (_, payload, pointer, keyword) => {
    const { job, errors } = await one(custom(payload))
    expect(job).toBeNull()
    expect(errors).toMatchObject([
      { __typename: 'ValidationError', code: 'INVALID', path: ['job', 'custom', 'payload'], pointer, keyword },
    ])
  })

  test('D01, D04: payload: what is just allowed', async () => {
    expect((await one(custom(nested(32)))).errors).toEqual([])
    const brim = { text: 'x'.repeat(65_536 - '{"text":""}'.length) }
    expect((await one(custom(brim))).job.payload).toEqual(brim)
    expect((await one(custom({ 'a/b~c': { __proto__x: 1 }, pair: '😀', one: null }))).job.payload).toEqual({
      'a/b~c': { __proto__x: 1 },
      pair: '😀',
      one: null,
    })
  })

  test('D08: payload: null is refused by the type, {} is an empty object', async () => {
    expect((await api.run(enqueue, { input: custom(null) })).errors).toHaveLength(1)
    expect((await one(custom({}))).job.payload).toEqual({})
  })

  test('payload: literals and variables read the same', async () => {
    const { data } = await api.run(
      `mutation ($n: JSON!) { enqueueJob(input: { job: { custom: { kind: "echo", payload: { n: $n, list: [1, 2.5, -3e2, true, null, "x"], o: { p: {} } } } } }) { job { payload } errors { message } } }`,
      { n: { deep: [1] } },
    )
    expect(data.enqueueJob).toEqual({
      job: { payload: { n: { deep: [1] }, list: [1, 2.5, -300, true, null, 'x'], o: { p: {} } } },
      errors: [],
    })
    const huge = await api.run(
      `mutation { enqueueJob(input: { job: { custom: { kind: "echo", payload: { n: 1e999 } } } }) { errors { message ... on ValidationError { pointer } } } }`,
    )
    expect(huge.data.enqueueJob.errors).toMatchObject([{ pointer: '/n' }])
  })

  test.each([
    [{}, '/url', 'required'],
    [{ url: 5 }, '/url', 'type'],
    [{ url: 'no' }, '/url', 'format'],
    [{ url: 'https://a.b', more: 1 }, '/more', 'additionalProperties'],
    [{ url: 'https://a.b', width: 0 }, '/width', 'minimum'],
    [{ url: 'https://a.b', width: 4_001 }, '/width', 'maximum'],
    [{ url: 'https://a.b', name: 'a' }, '/name', 'minLength'],
    [{ url: 'https://a.b', name: 'AB' }, '/name', 'pattern'],
    [{ url: 'https://a.b', fit: 'x' }, '/fit', 'enum'],
    [{ url: 'https://a.b', steps: [{ angle: 90 }, { angle: 1 }] }, '/steps/1/angle', 'multipleOf'],
    [{ url: 'https://a.b', steps: [{ angle: 0 }, { angle: 0 }, { angle: 0 }] }, '/steps', 'maxItems'],
  ])('payload against its schema: %j', async (payload, pointer, keyword) => {
    const { errors } = await one(custom(payload, {}, 'resize_image'))
    expect(errors).toMatchObject([{ code: 'INVALID', pointer, keyword }])
    // A payload may be secret: no value of it is repeated.
    expect(errors[0].message).not.toMatch(/4001|a\.b|AB/)
  })

  test('the payload of a kind that only another instance knows', async () => {
    expect(await one(custom({ n: 1.5 }, {}, 'foreign_kind'))).toMatchObject({
      errors: [{ pointer: '/n', keyword: 'type' }],
    })
    expect(await one(custom({ n: 1 }, {}, 'foreign_kind'))).toMatchObject({ outcome: 'CREATED', errors: [] })
  })

  test('an unknown kind names the nearest', async () => {
    const { errors } = await one(custom({}, {}, 'emial_send'))
    expect(errors).toMatchObject([
      { code: 'INVALID', path: ['job', 'custom', 'kind'], message: expect.stringContaining('email_send') },
    ])
  })

  test.each([
    [{ priority: 1_001 }, ['priority'], '0 to 1,000'],
    [{ priority: -1 }, ['priority'], '0 to 1,000'],
    [{ maxAttempts: 0 }, ['maxAttempts'], '1 to 100'],
    [{ maxAttempts: 101 }, ['maxAttempts'], '1 to 100'],
    [{ tags: Array.from({ length: 17 }, String) }, ['tags'], '16'],
    [{ tags: ['x'.repeat(65)] }, ['tags', '0'], '1 to 64'],
    [{ tags: ['ok', ''] }, ['tags', '1'], '1 to 64'],
    [{ idempotencyKey: '' }, ['idempotencyKey'], '1 to 255'],
    [{ idempotencyKey: 'k'.repeat(256) }, ['idempotencyKey'], '1 to 255'],
    [{ idempotencyKey: 'a\u0000' }, ['idempotencyKey'], 'NUL'],
    [{ correlationId: 'c'.repeat(201) }, ['correlationId'], '1 to 200'],
    [{ schedule: { after: 'P367D' } }, ['schedule'], '366 days'],
    [{ schedule: { at: '2099-01-01T00:00:00Z' } }, ['schedule'], '366 days'],
  ])('%j is outside of its range', async (more, path, range) => {
    const { job, errors } = await one(custom({}, more))
    expect(job).toBeNull()
    expect(errors).toMatchObject([{ code: 'INVALID', path, message: expect.stringContaining(range) }])
  })

  test('255 characters are counted as characters', async () => {
    expect(await one(custom({}, { idempotencyKey: '😀'.repeat(255) }))).toMatchObject({ outcome: 'CREATED' })
  })

  test.each([
    '2026-13-01T00:00:00Z',
    '2027-02-30T00:00:00Z',
    '2026-03-01',
    'tomorrow',
    '1969-12-31T23:59:59Z',
    '2201-01-01T00:00:00Z',
  ])('the instant %s is refused', async (at) => {
    const { errors } = await api.run(enqueue, { input: custom({}, { schedule: { at } }) })
    expect(errors[0]?.message).toMatch(/schedule/)
    expect(await api.sql("select 1 from mdm.aa_job where available_at < '1970-01-02'")).toEqual([])
  })

  test('exactly one field of JobInput and of ScheduleInput', async () => {
    const both = { custom: { kind: 'echo', payload: {} }, emailSend: { to: { address: 'a@example.org' } } }
    expect((await api.run(enqueue, { input: { job: both } })).errors).toHaveLength(1)
    expect((await api.run(enqueue, { input: custom({}, { schedule: {} }) })).errors).toHaveLength(1)
  })

  test('everything that is wrong is said at once', async () => {
    const { errors } = await one(custom({ url: 1, more: 2 }, { priority: -1, tenantId: 'nobody' }, 'resize_image'))
    expect(errors.map(({ path }: { path: string[] }) => path.join('.')).toSorted()).toEqual([
      'job.custom.payload',
      'job.custom.payload',
      'priority',
      'tenantId',
    ])
  })

  test('whoever is not signed in, or may not', async () => {
    expect(codeOf(await api.run(enqueue, { input: custom({}) }, null))).toBe('UNAUTHENTICATED')
    expect(
      codeOf(await api.run(enqueue, { input: custom({}) }, caller({ tenantIds: 'all', may: ['READ_JOBS'] }))),
    ).toBe('FORBIDDEN')
    expect(
      codeOf(await api.run(enqueue, { input: custom({}) }, { ...admin, expiresAt: new Date(Date.now() - 1) })),
    ).toBe('TOKEN_EXPIRED')
  })
})
