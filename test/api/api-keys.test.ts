import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createListener } from '../../src/db/listen.ts'
import { createWakeup } from '../../src/events/wakeup.ts'
import { scopes, type Caller, type Scope } from '../../src/jobs/permissions.ts'
import { createRequestContext } from '../../src/resolvers/context.ts'
import { findApiKey } from '../../src/resolvers/find-api-key.ts'
import { createRightsWatch } from '../../src/resolvers/rights-watch.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { createAuthenticate } from '../../src/server/auth.ts'
import { ask, rawSocket, serve, stopServers, type RawSocket } from '../server/support.ts'
import { until } from '../support/until.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let acme: string
let globex: string
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  api = await testApi()
  acme = await api.tenant('acme')
  globex = await api.tenant('globex')
})
afterEach(async () => {
  await stopServers()
  for (const stop of stops.splice(0)) await stop()
  await api.sql(`update mdm.aa_tenant set status = 'active'`)
  await api.sql('delete from mdm.aa_api_key')
})
afterAll(() => api.stop())

const shape = `apiKey { id name scopes tenants { key } createdAt expiresAt lastUsedAt revokedAt } secret errors { code path message }`

async function create(input: object = {}, as: Caller = admin) {
  const answer = await api.run(
    `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { ${shape} } }`,
    { input: { name: 'billing', scopes: ['READ_JOBS'], tenantIds: ['acme'], ...input } },
    as,
  )
  if (answer.data === null) throw Object.assign(new Error(answer.errors[0]!.message), { code: codeOf(answer) })
  return answer.data.createApiKey
}

async function revoke(id: string, as: Caller = admin, reason: string | null = null) {
  const document = `mutation($id: ID!, $reason: String) { revokeApiKey(input: { id: $id, reason: $reason }) { ${shape} } }`
  return (await api.run(document, { id, reason }, as)).data.revokeApiKey
}

const keysOf = async (as: Caller = admin) =>
  (await api.run('{ apiKeys { id name lastUsedAt revokedAt } }', {}, as)).data.apiKeys
const journal = () =>
  api
    .sql(`select * from mdm.aa_audit_log where action = 'api_key_change' order by id desc limit 1`)
    .then(([row]) => row!)

describe('a key', () => {
  test('is made, shown once, good for what it says, and journaled', async () => {
    const { apiKey, secret, errors } = await create({ scopes: ['READ_JOBS', 'ENQUEUE_JOBS', 'READ_JOBS'] })
    expect(errors).toEqual([])
    expect(apiKey).toMatchObject({
      id: expect.stringMatching(/^key_/),
      name: 'billing',
      scopes: ['READ_JOBS', 'ENQUEUE_JOBS'],
      tenants: [{ key: 'acme' }],
      expiresAt: null,
      lastUsedAt: null,
      revokedAt: null,
    })
    const answer = await findApiKey(api.pool, secret)
    expect(answer).toMatchObject({ state: 'valid', caller: { tenantIds: new Set([acme]) } })
    const entry = await journal()
    expect(entry).toMatchObject({
      tenant_id: acme,
      actor_principal_id: 'user:ada',
      payload: { change: 'created', name: 'billing' },
    })
    expect(entry.request_id).toMatch(/^request-/)
    expect(JSON.stringify([entry, await keysOf()])).not.toContain(secret)
    expect(
      (await api.run('query($id: ID!) { node(id: $id) { id ... on ApiKey { name } } }', { id: apiKey.id })).data.node,
    ).toEqual({
      id: apiKey.id,
      name: 'billing',
    })
  })

  test('says when it was used, to the hour', async () => {
    const { secret } = await create()
    await findApiKey(api.pool, secret)
    const used = await until(async () => (await keysOf())[0].lastUsedAt, 'the use is noted')
    expect(used).toMatch(/T\d\d:00:00\.000Z$/)
  })

  test.each([
    [{ name: '  ' }, 'name'],
    [{ name: 'x'.repeat(201) }, 'name'],
    [{ scopes: [] }, 'scopes'],
    [{ tenantIds: [] }, 'tenantIds'],
    [{ tenantIds: ['nobody'] }, 'tenantIds'],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
  ])('%o is refused', async (input, field) => {
    expect(await create(input)).toMatchObject({ apiKey: null, secret: null, errors: [{ path: [field] }] })
    expect(await keysOf()).toEqual([])
  })

  test.each(scopes.filter((scope) => scope !== 'MANAGE_METADATA'))(
    'with %s is made only by who holds it',
    async (scope) => {
      const may = scopes.filter((each) => each !== scope)
      await expect(create({ scopes: [scope] }, caller({ tenantIds: 'all', may }))).rejects.toMatchObject({
        code: 'FORBIDDEN',
      })
      expect((await create({ scopes: [scope] })).errors).toEqual([])
    },
  )

  test('for all tenants is made only by who may act for all of them', async () => {
    const noOperator = scopes.filter((scope) => scope !== 'OPERATE_PLATFORM')
    for (const who of [caller({ tenantIds: [acme] }), caller({ tenantIds: 'all', may: noOperator })])
      await expect(create({ tenantIds: null }, who)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect(await create({ tenantIds: null })).toMatchObject({ apiKey: { tenants: null }, errors: [] })
  })

  test('of another tenant is neither made, seen nor revoked', async () => {
    const ofAcme = caller({ tenantIds: [acme] })
    expect((await create({ tenantIds: ['acme', 'globex'] }, ofAcme)).errors).toMatchObject([{ code: 'NOT_FOUND' }])
    const { apiKey: both } = await create({ tenantIds: ['acme', 'globex'], name: 'both' })
    const { apiKey: all } = await create({ tenantIds: null, name: 'all' })
    const { apiKey: own } = await create({ name: 'own' }, ofAcme)
    expect((await keysOf(ofAcme)).map(({ name }: { name: string }) => name)).toEqual(['own'])
    expect((await keysOf()).map(({ name }: { name: string }) => name)).toEqual(['own', 'all', 'both'])
    for (const { id } of [both, all]) {
      expect((await revoke(id, ofAcme)).errors).toMatchObject([{ code: 'NOT_FOUND', path: ['id'] }])
      expect((await api.run('query($id: ID!) { node(id: $id) { id } }', { id }, ofAcme)).data.node).toBeNull()
    }
    expect((await revoke(own.id, ofAcme)).errors).toEqual([])
  })

  test('is revoked once', async () => {
    const { apiKey, secret } = await create()
    const first = await revoke(apiKey.id, admin, 'leaked')
    expect(first).toMatchObject({ apiKey: { id: apiKey.id, revokedAt: expect.any(String) }, secret: null, errors: [] })
    expect(await journal()).toMatchObject({ reason: 'leaked', tenant_id: acme, payload: { change: 'revoked' } })
    expect(await findApiKey(api.pool, secret)).toEqual({ state: 'revoked' })
    const before = (await journal()).id
    expect((await revoke(apiKey.id)).apiKey.revokedAt).toBe(first.apiKey.revokedAt)
    expect((await journal()).id).toBe(before)
    expect((await revoke('nonsense')).errors).toMatchObject([{ code: 'NOT_FOUND' }])
  })
})

/** The real schema behind the real edge; each instance hears the others by NOTIFY. */
async function instance() {
  const listener = createListener({ url: api.url, onLost: () => {}, onRestored: () => {} })
  const wakeup = createWakeup({ instanceId: randomUUID(), db: api.pool, listener })
  const rights = createRightsWatch({ db: api.pool, wakeup })
  await rights.start()
  await wakeup.start()
  stops.push(async () => {
    await wakeup.stop()
    await listener.stop()
  })
  const authenticate = createAuthenticate({
    findApiKey: (key) => findApiKey(api.pool, key),
    verifyJwt: () => Promise.reject(new Error('no JWT here')),
    rights,
  })
  const deps = { ...api.deps, wakeup }
  return serve(api, {
    schema: buildSchema(),
    contextFor: (call) => createRequestContext(deps, { ...call, budget: () => null }),
    authenticate,
  })
}

async function openSocket(url: string, secret: string): Promise<RawSocket> {
  const raw = await rawSocket(url)
  raw.send({ type: 'connection_init', payload: { authorization: `Bearer ${secret}` } })
  await until(() => raw.messages.some(({ type }) => type === 'connection_ack'), 'the socket is acknowledged')
  raw.send({ type: 'subscribe', id: '1', payload: { query: 'subscription { instances { id } }' } })
  await until(() => raw.messages.some(({ type }) => type === 'next'), 'the stream has begun')
  return raw
}

/** Opens a stream of server-sent events; the promise resolves when it is cut. */
async function openEvents(url: string, secret: string): Promise<{ readonly cut: Promise<void> }> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${secret}` },
    body: JSON.stringify({ query: 'subscription { instances { id } }' }),
  })
  const begun = Promise.withResolvers<void>()
  const read = async (): Promise<void> => {
    try {
      for await (const _ of response.body!) begun.resolve()
    } catch {
      // Cut off, as it should be.
    }
  }
  const cut = read()
  await begun.promise
  return { cut }
}

const revokeByHand = (id: string) =>
  api.sql('update mdm.aa_api_key set revoked_at = now() where id = $1', [id.slice('key_'.length)])

async function revokeAt(url: string, secret: string, id: string): Promise<void> {
  const document = 'mutation($id: ID!) { revokeApiKey(input: { id: $id }) { errors { code } } }'
  const { body } = await ask(url, document, { authorization: `Bearer ${secret}`, variables: { id } })
  expect(body).toEqual({ data: { revokeApiKey: { errors: [] } } })
}

const within = 1_000
async function msUntil(what: Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await what
  return performance.now() - startedAt
}

describe('streams', () => {
  test('of a revoked key end within a second, at every instance and by whatever way it was revoked', async () => {
    const [here, there] = [await instance(), await instance()]
    const { secret: managers } = await create({ scopes: ['MANAGE_METADATA'] })
    for (const byHand of [false, true]) {
      const { apiKey, secret } = await create()
      const { secret: another } = await create()
      const sockets = [await openSocket(here.url, secret), await openSocket(there.url, secret)]
      const stays = await openSocket(there.url, another)
      const events = await openEvents(there.url, secret)
      const ended = Promise.all([...sockets.map(({ closed }) => closed), events.cut])
      await (byHand ? revokeByHand(apiKey.id) : revokeAt(here.url, managers, apiKey.id))
      expect(await msUntil(ended)).toBeLessThan(within)
      expect((await sockets[0]!.closed).code).toBe(4403)
      expect((await ask(there.url, '{ viewer { allTenants } }', { authorization: `Bearer ${secret}` })).status).toBe(
        401,
      )
      expect(stays.socket.readyState).toBe(stays.socket.OPEN)
      stays.socket.close()
    }
  })

  test("of a closed tenant's callers end; those of others and of operators go on", async () => {
    const [here, there] = [await instance(), await instance()]
    const operator: Scope[] = ['READ_JOBS', 'OPERATE_PLATFORM']
    const { secret: closing } = await create({ tenantIds: ['globex'] })
    const { secret: other } = await create()
    const { secret: all } = await create({ tenantIds: null, scopes: operator })
    const ends = [await openSocket(here.url, closing), await openSocket(there.url, closing)]
    const events = await openEvents(here.url, closing)
    const goOn = [await openSocket(here.url, other), await openSocket(there.url, all)]
    const { body } = await ask(
      here.url,
      'mutation($id: ID!) { setTenantActive(input: { tenantId: $id, active: false }) { errors { code } } }',
      { authorization: `Bearer ${all}`, variables: { id: globex } },
    )
    expect(body).toEqual({ data: { setTenantActive: { errors: [] } } })
    expect(await msUntil(Promise.all([...ends.map(({ closed }) => closed), events.cut]))).toBeLessThan(within)
    expect((await ends[0]!.closed).reason).toMatch(/^FORBIDDEN: A tenant of the token was closed/)
    for (const { socket } of goOn) {
      expect(socket.readyState).toBe(socket.OPEN)
      socket.close()
    }
  })

  test('of a closed tenant cannot be opened again, nor can anything of it be read, until it is open', async () => {
    const { url } = await instance()
    const { secret: closing } = await create({ tenantIds: ['globex'] })
    const { secret: both } = await create({ tenantIds: ['acme', 'globex'] })
    const { secret: all } = await create({ tenantIds: null, scopes: ['READ_JOBS', 'OPERATE_PLATFORM'] })
    const read = async (secret: string) => {
      const query = '{ tenant(id: "globex") { key } tenants { nodes { key } } }'
      const { status, body } = await ask(url, query, { authorization: `Bearer ${secret}` })
      return { status, code: body.errors?.[0]?.extensions['code'] ?? null, data: body.data as never }
    }
    const set = (active: boolean) =>
      ask(
        url,
        `mutation($active: Boolean!) { setTenantActive(input: { tenantId: "globex", active: $active }) { errors { code } } }`,
        { authorization: `Bearer ${all}`, variables: { active } },
      )
    const open = { status: 200, code: null, data: { tenant: { key: 'globex' } } }
    for (const secret of [closing, both, all]) expect(await read(secret)).toMatchObject(open)
    const socket = await openSocket(url, closing)

    await set(false)
    expect((await socket.closed).code).toBe(4403)
    await until(async () => (await read(closing)).code === 'FORBIDDEN', 'nothing of it is read')
    expect(await read(closing)).toMatchObject({ status: 403, code: 'FORBIDDEN' })
    const again = await rawSocket(url)
    again.send({ type: 'connection_init', payload: { authorization: `Bearer ${closing}` } })
    expect(await again.closed).toMatchObject({
      code: 4403,
      reason: expect.stringMatching(/^FORBIDDEN: Every tenant of this token is closed/),
    })
    const events = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${closing}` },
      body: JSON.stringify({ query: 'subscription { instances { id } }' }),
    })
    expect(events.status).toBe(403)
    // Who has another tenant goes on with that one; operators see everything, to open it again.
    expect(await read(both)).toEqual({
      status: 200,
      code: null,
      data: { tenant: null, tenants: { nodes: [{ key: 'acme' }] } },
    })
    expect(await read(all)).toMatchObject(open)

    await set(true)
    await until(async () => (await read(closing)).status === 200, 'it is open again')
    for (const secret of [closing, both]) expect(await read(secret)).toMatchObject(open)
  })
})
