import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { scopes } from '../../src/jobs/permissions.ts'
import { startWorkers, type Workers } from '../kinds/support.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver, verifies, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let defaultId: string
let otherId: string
let workers: Workers
let receiver: WebhookReceiver

beforeAll(async () => {
  api = await testApi()
  const [row] = await api.sql<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`)
  defaultId = row!.id
  otherId = await api.tenant('other')
  workers = await startWorkers(api, {
    env: {
      STELLWERK_SECRET_KEY: 'a key of the tests',
      STELLWERK_WEBHOOK_ALLOW: '127.0.0.0/8',
      STELLWERK_KIND_OUTBOX_DISPATCH: '{"maxAttempts": 2, "backoff": {"baseMs": 50, "maxMs": 100}}',
    },
  })
})
afterAll(async () => {
  await workers?.stop()
  await api?.stop()
})
beforeEach(async () => {
  receiver = await startWebhookReceiver()
})
afterEach(async () => {
  await api.sql(`update mdm.aa_webhook_subscription set status = 'paused', event_types = '{none}'`)
  await receiver.stop()
})

const endpointFields = 'id url eventTypes ordered status disabledReason consecutiveFailures tenant { key }'
const result = `{ endpoint { ${endpointFields} } secret errors { __typename code message ... on ValidationError { path } ... on NotFoundError { path } } }`
const inputs = {
  createWebhookEndpoint: 'CreateWebhookEndpointInput',
  updateWebhookEndpoint: 'UpdateWebhookEndpointInput',
}

async function act(field: keyof typeof inputs, input: object, who = caller({ tenantIds: [defaultId] })) {
  const { data, errors } = await api.run(
    `mutation M($input: ${inputs[field]}!) { ${field}(input: $input) ${result} }`,
    { input },
    who,
  )
  expect(errors).toEqual([])
  return data[field]
}
const create = (input: object = {}, who = caller({ tenantIds: [defaultId] })) =>
  act('createWebhookEndpoint', { url: receiver.url, eventTypes: ['order.placed'], ...input }, who)
async function publish(payload: unknown = {}, input: object = {}): Promise<string> {
  const { data } = await api.run(
    'mutation M($input: PublishEventInput!) { publishEvent(input: $input) { eventId errors { message } } }',
    { input: { tenantId: defaultId, type: 'order.placed', payload, ...input } },
  )
  expect(data.publishEvent.errors).toEqual([])
  return data.publishEvent.eventId
}
async function redeliver(endpointId: string, since = new Date(0)) {
  const { data, errors } = await api.run(
    `mutation M($endpointId: ID!, $since: DateTime!) { redeliverWebhooks(endpointId: $endpointId, since: $since) ${result} }`,
    { endpointId, since: since.toISOString() },
    caller({ tenantIds: [defaultId] }),
  )
  expect(errors).toEqual([])
  return data.redeliverWebhooks
}
const deliveryFields =
  'id eventId eventType status attemptCount lastStatus lastError deliveredAt job { id status } endpoint { id }'
async function deliveries(id: string, args = 'first: 100') {
  const { data } = await api.run(
    `query Q($id: ID!) { node(id: $id) { ... on WebhookEndpoint { ${endpointFields} deliveries(${args}) { nodes { ${deliveryFields} } edges { cursor } pageInfo { hasNextPage endCursor } } } } }`,
    { id },
  )
  return data.node.deliveries
}
const statuses = async (id: string): Promise<string[]> =>
  (await deliveries(id)).nodes.map(({ status }: { status: string }) => status)
const reached = (id: string, expected: readonly string[]) =>
  until(
    async () => JSON.stringify(await statuses(id)) === JSON.stringify(expected),
    `deliveries are ${expected.join(', ')}`,
  )

describe('an endpoint', () => {
  test('is made with a secret that is shown once and stored encrypted, and receives what verifies with it', async () => {
    const { endpoint, secret, errors } = await create()
    expect(errors).toEqual([])
    expect(endpoint).toMatchObject({
      url: receiver.url,
      eventTypes: ['order.placed'],
      ordered: false,
      status: 'ACTIVE',
      disabledReason: null,
      consecutiveFailures: 0,
      tenant: { key: 'default' },
    })
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const eventId = await publish({ n: 1 })
    await reached(endpoint.id, ['DELIVERED'])
    expect(receiver.received[0]!.headers['webhook-id']).toBe(`msg_${eventId}`)
    expect(verifies(secret, receiver.received[0]!)).toBe(true)
    const [delivery] = (await deliveries(endpoint.id)).nodes
    expect(delivery).toMatchObject({
      eventId,
      eventType: 'order.placed',
      attemptCount: 1,
      lastStatus: 200,
      lastError: null,
      endpoint: { id: endpoint.id },
    })
    expect(new Date(delivery.deliveredAt).getTime()).toBeGreaterThan(0)
    const { data } = await api.run(
      `query Q($id: ID!) { node(id: $id) { ... on WebhookDelivery { ${deliveryFields} } } }`,
      {
        id: delivery.id,
      },
    )
    expect(data.node).toMatchObject({ id: delivery.id, status: 'DELIVERED' })
    // Nowhere in the database: neither with the endpoint nor in what was journaled.
    const [found] = await api.sql<{ stored: boolean; journaled: boolean }>(
      `select exists (select from mdm.aa_webhook_subscription s where s::text like '%' || $1 || '%' or encode(s.secrets_enc[1], 'escape') like '%' || $1 || '%') as stored,
              exists (select from mdm.aa_audit_log a where a.payload::text like '%' || $1 || '%') as journaled`,
      [secret.slice(6, 40)],
    )
    expect(found).toEqual({ stored: false, journaled: false })
  })

  test.each([
    ['a scheme of files', { url: 'ftp://example.org' }, ['url'], /no https/],
    ['an address inside', { url: 'https://10.0.0.1/' }, ['url'], /not public/],
    ['a password', { url: 'https://user:pass@example.org/' }, ['url'], /user or password/],
    ['a URL too long', { url: `https://example.org/${'x'.repeat(2_000)}` }, ['url'], /2,000/],
    ['no event type', { eventTypes: [] }, ['eventTypes'], /1 to 100/],
    ['too many event types', { eventTypes: Array(101).fill('a') }, ['eventTypes'], /1 to 100/],
    ['a list of addresses', { notifyEmail: 'a@example.org, b@example.org' }, ['notifyEmail'], /one plain address/],
    ['a bad event type', { eventTypes: ['order.placed', 'no good'] }, ['eventTypes', '1'], /event type/],
  ] as const)('%s is refused', async (_, input, path, message) => {
    const { endpoint, secret, errors } = await create(input)
    expect(endpoint).toBeNull()
    expect(secret).toBeNull()
    expect(errors).toEqual([
      { __typename: 'ValidationError', code: 'INVALID', message: expect.stringMatching(message), path },
    ])
  })

  test('without STELLWERK_SECRET_KEY none is made, and the error says what to do', async () => {
    const production = await testApi({ environment: 'production' })
    Object.assign(production.deps, { secrets: null })
    const { data } = await production.run(
      'mutation { createWebhookEndpoint(input: { tenantId: "default", url: "https://example.org", eventTypes: ["*"] }) { endpoint { id } errors { message } } }',
    )
    expect(data.createWebhookEndpoint.endpoint).toBeNull()
    expect(data.createWebhookEndpoint.errors[0].message).toMatch(/STELLWERK_SECRET_KEY/)
    await production.stop()
  })

  test('belongs to its tenant alone', async () => {
    const { endpoint } = await create()
    await publish()
    await reached(endpoint.id, ['DELIVERED'])
    const [delivery] = (await deliveries(endpoint.id)).nodes
    const stranger = caller({ tenantIds: [otherId] })
    const seen = await api.run(
      'query Q($ids: [ID!]!) { nodes(ids: $ids) { id } webhookEndpoints { id } }',
      { ids: [endpoint.id, delivery.id] },
      stranger,
    )
    expect(seen.data).toEqual({ nodes: [null, null], webhookEndpoints: [] })
    const { data: named } = await api.run('{ webhookEndpoints(tenantId: "default") { id } }', {}, stranger)
    expect(named.webhookEndpoints).toEqual([])
    for (const [field, args] of [
      ['updateWebhookEndpoint', `(input: { id: "${endpoint.id}", status: PAUSED })`],
      ['rotateWebhookSecret', `(id: "${endpoint.id}")`],
      ['redeliverWebhooks', `(endpointId: "${endpoint.id}", since: "2020-01-01T00:00:00Z")`],
    ]) {
      const { data } = await api.run(`mutation { ${field}${args} ${result} }`, {}, stranger)
      expect(data[field!]).toMatchObject({ endpoint: null, secret: null, errors: [{ __typename: 'NotFoundError' }] })
    }
    const { errors } = await create({ tenantId: 'default' }, stranger)
    expect(errors).toMatchObject([{ __typename: 'NotFoundError', path: ['tenantId'] }])
    const { data } = await api.run(
      'mutation { publishEvent(input: { tenantId: "default", type: "order.placed", payload: {} }) { eventId errors { code } } }',
      {},
      stranger,
    )
    expect(data.publishEvent).toEqual({ eventId: null, errors: [{ code: 'NOT_FOUND' }] })
    expect((await deliveries(endpoint.id)).nodes).toHaveLength(1)
  })

  test('says who gets a mail when it is switched off, whole only with READ_PAYLOADS', async () => {
    const { endpoint } = await create({ notifyEmail: 'ada@example.org' })
    const reader = caller({ tenantIds: [defaultId], may: scopes.filter((scope) => scope !== 'READ_PAYLOADS') })
    const shown = async (who?: typeof reader) => {
      const text = 'query Q($id: ID!) { node(id: $id) { ... on WebhookEndpoint { notifyEmail } } }'
      return (await api.run(text, { id: endpoint.id }, who)).data.node.notifyEmail
    }
    expect(await shown()).toBe('ada@example.org')
    expect(await shown(reader)).toBe('a***@example.org')
    await act('updateWebhookEndpoint', { id: endpoint.id, eventTypes: ['order.placed'] })
    expect(await shown()).toBe('ada@example.org')
    await act('updateWebhookEndpoint', { id: endpoint.id, notifyEmail: 'grace@example.org' })
    expect(await shown()).toBe('grace@example.org')
    await act('updateWebhookEndpoint', { id: endpoint.id, notifyEmail: null })
    expect(await shown()).toBeNull()
    const journal = await api.sql<{ payload: object }>(
      `select payload from mdm.aa_audit_log where action = 'webhook_change' and 'endpoint_' || (payload ->> 'webhook_endpoint_id') = $1`,
      [endpoint.id],
    )
    expect(JSON.stringify(journal)).not.toContain('@')
    expect(journal.filter(({ payload }) => 'notify_email_changed' in payload)).toHaveLength(2)
  })

  test('what was too long for a webhook is read by the delivery that it names, with READ_PAYLOADS', async () => {
    const { endpoint } = await create()
    const payload = { text: 'x'.repeat(30_000) }
    await publish(payload)
    await reached(endpoint.id, ['DELIVERED'])
    const { thin, data: reference } = receiver.received[0]!.event as unknown as {
      thin: boolean
      data: { delivery_id: string; event_id: string }
    }
    expect(thin).toBe(true)
    const read = async (who: ReturnType<typeof caller>) => {
      const text = 'query Q($id: ID!) { node(id: $id) { ... on WebhookDelivery { eventId payloadText } } }'
      return (await api.run(text, { id: reference.delivery_id }, who)).data.node
    }
    const found = await read(caller({ tenantIds: [defaultId], may: ['READ_JOBS', 'READ_PAYLOADS'] }))
    expect(found.eventId).toBe(reference.event_id)
    expect(JSON.parse(found.payloadText)).toEqual(payload)
    expect(await read(caller({ tenantIds: [defaultId], may: ['READ_JOBS'] }))).toMatchObject({ payloadText: null })
    expect(await read(caller({ tenantIds: [otherId] }))).toBeNull()
    await api.sql('delete from mdm.aa_outbox_event where event_id = $1', [reference.event_id])
    expect(await read(caller({ tenantIds: [defaultId] }))).toMatchObject({ payloadText: null })
  })

  test('shows its whole URL only with READ_PAYLOADS', async () => {
    const { endpoint } = await create({ url: `${receiver.url}/hook?token=abc` })
    const reader = caller({ tenantIds: [defaultId], may: scopes.filter((scope) => scope !== 'READ_PAYLOADS') })
    const { data } = await api.run(
      'query Q($id: ID!) { node(id: $id) { ... on WebhookEndpoint { url } } }',
      { id: endpoint.id },
      reader,
    )
    expect(data.node.url).toBe(`${receiver.url}/***`)
    expect(endpoint.url).toBe(`${receiver.url}/hook?token=abc`)
    const nobody = await api.run(
      '{ webhookEndpoints { id } }',
      {},
      caller({ tenantIds: [defaultId], may: ['READ_AUDIT'] }),
    )
    expect(codeOf(nobody)).toBe('FORBIDDEN')
  })

  test('is changed; the audit log says by whom, and not where to', async () => {
    const { endpoint } = await create()
    const changed = await act('updateWebhookEndpoint', {
      id: endpoint.id,
      url: `${receiver.url}/secret-path`,
      eventTypes: ['a', 'a', 'b.*'],
    })
    expect(changed).toMatchObject({
      endpoint: { url: `${receiver.url}/secret-path`, eventTypes: ['a', 'b.*'], status: 'ACTIVE' },
      secret: null,
      errors: [],
    })
    const refused = await act('updateWebhookEndpoint', { id: endpoint.id, status: 'DISABLED', url: 'x' })
    expect(refused.errors.map(({ path }: { path: string[] }) => path)).toEqual([['url'], ['status']])
    const { data } = await api.run(
      '{ auditLog(filter: { action: [WEBHOOK_CHANGE] }, first: 1) { nodes { action actor { id } snapshot } } }',
    )
    expect(data.auditLog.nodes[0]).toMatchObject({ action: 'WEBHOOK_CHANGE', actor: { id: 'ada' } })
    expect(JSON.stringify(data)).not.toContain('secret-path')
  })

  test('lists its deliveries newest first, in pages and by status', async () => {
    const { endpoint } = await create()
    const ids: string[] = []
    for (let nth = 0; nth < 3; nth += 1) ids.unshift(await publish({ nth }))
    await reached(endpoint.id, ['DELIVERED', 'DELIVERED', 'DELIVERED'])
    const page = await deliveries(endpoint.id, 'first: 2')
    expect(page.nodes.map(({ eventId }: { eventId: string }) => eventId)).toEqual(ids.slice(0, 2))
    expect(page.pageInfo.hasNextPage).toBe(true)
    const rest = await deliveries(endpoint.id, `first: 2, after: "${page.pageInfo.endCursor}"`)
    expect(rest.nodes.map(({ eventId }: { eventId: string }) => eventId)).toEqual(ids.slice(2))
    expect((await deliveries(endpoint.id, 'status: [DEAD, HELD]')).nodes).toEqual([])
  })
})

describe('publishing', () => {
  test.each([
    ['a blank in the type', { type: 'no good' }, ['type']],
    ['no type', { type: '' }, ['type']],
    ['an empty aggregate', { aggregateType: '' }, ['aggregateType']],
    ['a long aggregate', { aggregateId: 'x'.repeat(201) }, ['aggregateId']],
    ['a NUL in the aggregate', { aggregateId: 'a\0b' }, ['aggregateId']],
    ['a NUL in the payload', { payload: { text: 'a\0b' } }, ['payload']],
    ['a payload too large', { payload: 'x'.repeat(70_000) }, ['payload']],
  ])('%s is refused', async (_, input, path) => {
    const { data, errors } = await api.run(
      'mutation M($input: PublishEventInput!) { publishEvent(input: $input) { eventId errors { ... on ValidationError { path pointer } } } }',
      { input: { tenantId: defaultId, type: 'order.placed', payload: {}, ...input } },
    )
    expect(errors).toEqual([])
    expect(data.publishEvent.eventId).toBeNull()
    expect(data.publishEvent.errors.map((error: { path: string[] }) => error.path)).toEqual([path])
  })

  test('any JSON is a payload', async () => {
    const { endpoint } = await create({ ordered: true })
    const payloads = [1, 'text', [1, 2], { a: null }, true]
    for (const payload of payloads) await publish(payload)
    await reached(endpoint.id, Array(5).fill('DELIVERED'))
    expect(receiver.received.map(({ event }) => event.data)).toEqual(payloads)
  })
})

describe('KINDS 5.5: switched off and on again', () => {
  test('KINDS 5.5: what a disabled endpoint missed comes after a redelivery, in order, and nothing twice', async () => {
    const { endpoint } = await create({ ordered: true })
    receiver.answer = () => 410
    for (let nth = 0; nth < 5; nth += 1) await publish({ nth })
    await reached(endpoint.id, Array(5).fill('HELD'))
    receiver.answer = () => 200
    const early = await redeliver(endpoint.id)
    expect(early.errors).toMatchObject([{ code: 'INVALID', path: ['endpointId'] }])
    const { endpoint: again } = await act('updateWebhookEndpoint', { id: endpoint.id, status: 'ACTIVE' })
    expect(again).toMatchObject({ status: 'ACTIVE', disabledReason: null, consecutiveFailures: 0 })
    expect((await redeliver(endpoint.id)).errors).toEqual([])
    await reached(endpoint.id, Array(5).fill('DELIVERED'))
    const taken = receiver.received.slice(1).map(({ event }) => event.data['nth'])
    expect(taken).toEqual([0, 1, 2, 3, 4])
  })

  test('KINDS 5.5: without an order only what was missed since then comes, and dead ones too', async () => {
    const { endpoint } = await create()
    receiver.answer = () => 500
    await publish({ nth: 0 })
    await reached(endpoint.id, ['DEAD'])
    const [{ now: since }] = (await api.sql<{ now: Date }>('select clock_timestamp() as now')) as [{ now: Date }]
    await publish({ nth: 1 })
    await reached(endpoint.id, ['DEAD', 'DEAD'])
    const dead = (await deliveries(endpoint.id)).nodes
    receiver.answer = () => 200
    receiver.received.length = 0
    expect((await redeliver(endpoint.id, since)).errors).toEqual([])
    await reached(endpoint.id, ['DELIVERED', 'DEAD'])
    expect(receiver.received.map(({ event }) => event.data['nth'])).toEqual([1])
    // Its dead letter is gone from the queue, and did not send it once more.
    const [{ job }] = dead
    await until(async () => {
      const { data } = await api.run('query Q($id: ID!) { job(id: $id) { status } }', { id: job.id })
      return data.job.status === 'DONE'
    }, 'the dead letter has ended')
    expect(receiver.received).toHaveLength(1)
  })

  test('a pause holds, and the end of the pause goes on by itself', async () => {
    const { endpoint } = await create()
    await act('updateWebhookEndpoint', { id: endpoint.id, status: 'PAUSED' })
    for (let nth = 0; nth < 3; nth += 1) await publish({ nth })
    await reached(endpoint.id, ['HELD', 'HELD', 'HELD'])
    expect(receiver.received).toHaveLength(0)
    await act('updateWebhookEndpoint', { id: endpoint.id, status: 'ACTIVE' })
    await reached(endpoint.id, ['DELIVERED', 'DELIVERED', 'DELIVERED'])
    expect(receiver.received).toHaveLength(3)
  })
})

describe('KINDS 5.7: secrets and replays', () => {
  const rotate = async (id: string) => {
    const { data } = await api.run(
      `mutation M($id: ID!) { rotateWebhookSecret(id: $id) ${result} }`,
      { id },
      caller({ tenantIds: [defaultId] }),
    )
    return data.rotateWebhookSecret
  }

  test('KINDS 5.7, H04: while a secret is changed both verify; a day later only the new one', async () => {
    const { endpoint, secret: old } = await create()
    const { secret: fresh, errors } = await rotate(endpoint.id)
    expect(errors).toEqual([])
    expect(fresh).not.toBe(old)
    await publish()
    await reached(endpoint.id, ['DELIVERED'])
    for (const secret of [old, fresh]) expect(verifies(secret, receiver.received[0]!)).toBe(true)
    expect(receiver.received[0]!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    await api.sql(
      `update mdm.aa_webhook_subscription set secrets_until[2] = secrets_until[2] - interval '24 hours 1 second' where id = $1`,
      [endpoint.id.slice('endpoint_'.length)],
    )
    await publish()
    await reached(endpoint.id, ['DELIVERED', 'DELIVERED'])
    expect(verifies(fresh, receiver.received[1]!)).toBe(true)
    expect(verifies(old, receiver.received[1]!)).toBe(false)
  })

  test('a secret that was rotated ten times within a day is not rotated again', async () => {
    const { endpoint } = await create()
    for (let nth = 0; nth < 9; nth += 1) expect((await rotate(endpoint.id)).errors).toEqual([])
    expect((await rotate(endpoint.id)).errors).toMatchObject([{ code: 'INVALID' }])
  })

  test('KINDS 5.7, H04: a dead delivery is replayed through its job, with the same webhook-id and a timestamp of its own', async () => {
    const { endpoint, secret } = await create()
    receiver.answer = () => 500
    await publish()
    await reached(endpoint.id, ['DEAD'])
    const [dead] = (await deliveries(endpoint.id)).nodes
    expect(dead).toMatchObject({
      attemptCount: 2,
      lastStatus: 500,
      lastError: 'The receiver answered 500.',
      job: { status: 'DLQ' },
    })
    receiver.answer = () => 200
    await until(
      () => Date.now() / 1_000 > Number(receiver.received[0]!.headers['webhook-timestamp']) + 1,
      'another second',
    )
    const { data } = await api.run(
      'mutation M($input: ReplayJobInput!) { replayJob(input: $input) { errors { message } } }',
      {
        input: { id: dead.job.id },
      },
    )
    expect(data.replayJob.errors).toEqual([])
    await reached(endpoint.id, ['DELIVERED'])
    const ids = new Set(receiver.received.map(({ headers }) => headers['webhook-id']))
    expect(ids.size).toBe(1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBeGreaterThan(1)
    expect(verifies(secret, receiver.received.at(-1)!)).toBe(true)
  })
})
