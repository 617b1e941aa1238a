import {
  getOperationAST,
  GraphQLInt,
  GraphQLList,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  parse,
} from 'graphql'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Caller } from '../../src/jobs/permissions.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { createBudgets } from '../../src/server/budgets.ts'
import type { Call } from '../../src/server/call.ts'
import { priceOperation } from '../../src/server/operation-cost.ts'
import { presetTabs } from '../../src/server/preset-tabs.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { apiKey, ask, askEvents, askSocket, rawSocket, serve, stopServers, token, type Answer } from './support.ts'
import { until } from '../support/until.ts'

const real = buildSchema()

function cost(query: string, variables: Record<string, unknown> = {}): number {
  const document = parse(query)
  return priceOperation(real, document, getOperationAST(document)!)(variables)
}

describe('what an operation costs', () => {
  test.each([
    ['the smallest', '{ __typename }', {}, 1],
    ['an object each', '{ viewer { principal { id name } scopes } }', {}, 2],
    ['a field with a price', '{ job(id: "x") { id payload payloadText } }', {}, 5],
    ['a page by its size', '{ jobs(first: 50) { nodes { id kind { name } } } }', {}, 1 + 50 * 2],
    ['a page with edges', '{ jobs(first: 50) { edges { node { id } } } }', {}, 1 + 50 * 2],
    ['a page from its end', '{ jobs(last: 7) { nodes { id } } }', {}, 1 + 7],
    ['a page of no size', '{ jobs { nodes { id } } }', {}, 1 + 20],
    ['a page of the standard size', '{ job(id: "x") { events { nodes { at } } } }', {}, 1 + 1 + 50],
    ['what else a page holds', '{ jobs(first: 50) { totalCount { count } pageInfo { endCursor } } }', {}, 1 + 10 + 1],
    [
      'pages in pages',
      '{ jobs(first: 100) { nodes { events(first: 100) { nodes { at } } } } }',
      {},
      1 + 100 * (1 + 1 + 100),
    ],
    ['a size in a variable', 'query ($n: Int) { jobs(first: $n) { nodes { id } } }', { n: 90 }, 1 + 90],
    ['a variable that is not given', 'query ($n: Int = 30) { jobs(first: $n) { nodes { id } } }', {}, 1 + 30],
    ['a variable that is null', 'query ($n: Int) { jobs(first: $n) { nodes { id } } }', { n: null }, 1 + 20],
    ['nodes by their ids', '{ nodes(ids: ["a", "b", "c"]) { id } }', {}, 3],
    ['ids in a variable', 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids: ['a', 'b'] }, 2],
    [
      'of an interface the dearest type',
      '{ node(id: "x") { ... on Job { payload } ... on Tenant { id } ... on Job { kind { name } } } }',
      {},
      1 + 2 + 1,
    ],
    [
      'fragments where they are used',
      'fragment f on Job { kind { name } } { a: job(id: "x") { ...f } b: job(id: "x") { ...f } }',
      {},
      4,
    ],
    [
      'what is left out',
      'query ($no: Boolean!) { job(id: "x") { payload @include(if: $no) result @skip(if: true) } }',
      { no: false },
      1,
    ],
    ['a list with its price', '{ jobKinds { name } }', {}, 20],
    ['a message of a stream', 'subscription { jobs { updates { job { id } } } }', {}, 1 + 100 * 2],
  ])('%s', (_, query, variables, points) => {
    expect(cost(query, variables)).toBe(points)
  })

  test('enqueueing many counts an answer for each job', () => {
    const jobs = Array.from({ length: 1_000 }, () => ({}))
    const select = 'created results { outcome job { id } errors { code } } errors { code }'
    const whole = 'mutation ($jobs: [EnqueueJobInput!]!) { enqueueJobs(input: { jobs: $jobs }) {'
    expect(cost(`${whole} created } }`, { jobs })).toBe(1)
    expect(cost(`${whole} ${select} } }`, { jobs })).toBe(1 + 3_000 + 1)
    expect(
      cost(`mutation ($input: EnqueueJobsInput!) { enqueueJobs(input: $input) { results { outcome } } }`, {
        input: { jobs },
      }),
    ).toBe(1_001)
  })

  test('every preset operation is within the limit', () => {
    for (const { query, variables } of presetTabs(real)) {
      expect(cost(query, JSON.parse(variables ?? '{}') as Record<string, unknown>), query).toBeLessThanOrEqual(5_000)
    }
  })

  test('pricing a known operation costs next to nothing', () => {
    const document = parse(
      'query ($n: Int) { jobs(first: $n) { nodes { id kind { name } events(first: $n) { nodes { at } } } } }',
    )
    const price = priceOperation(real, document, getOperationAST(document)!)
    const started = performance.now()
    for (let turn = 0; turn < 10_000; turn++) price({ n: turn % 100 })
    expect((performance.now() - started) / 10_000).toBeLessThan(0.05)
  })
})

describe('a budget', () => {
  const user: Caller = {
    principal: { id: 'ada', name: null, kind: 'USER' },
    scopes: new Set(),
    tenantIds: 'all',
    expiresAt: null,
  }
  const service: Caller = { ...user, principal: { id: 'billing', name: null, kind: 'SERVICE' } }

  test('is 10,000 points for a person, of which 500 come back each second', () => {
    let now = 0
    const charge = createBudgets({ serviceBudget: null, now: () => now })
    expect(charge(user, 4_000)).toEqual({ budget: { limit: 10_000, perSecond: 500, remaining: 6_000 }, refused: null })
    expect(charge(user, 6_000).refused).toBeNull()
    expect(charge(user, 750)).toMatchObject({ budget: { remaining: 0 }, refused: { retryAfterSeconds: 2 } })
    now = 1_500
    expect(charge(user, 750)).toMatchObject({ budget: { remaining: 0 }, refused: null })
    expect(charge({ ...user, principal: { ...user.principal, id: 'alan' } }, 1).budget!.remaining).toBe(9_999)
  })

  test('is for services only where the operator sets one', () => {
    expect(createBudgets({ serviceBudget: null })(service, 1_000_000)).toEqual({ budget: null, refused: null })
    const charge = createBudgets({ serviceBudget: { limit: 100, perSecond: 10 }, now: () => 0 })
    expect(charge(service, 60).budget!.remaining).toBe(40)
    expect(charge(service, 60)).toMatchObject({ refused: { retryAfterSeconds: 2 } })
    expect(charge(service, 101)).toMatchObject({ refused: 'never' })
    expect(charge(user, 101).refused).toBeNull()
  })
})

describe('at the door', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await testDatabase()
  })
  afterEach(stopServers)
  afterAll(() => database.drop())

  let served = 0
  const item = new GraphQLObjectType({ name: 'Item', fields: { id: { type: GraphQLString, resolve: () => 'i' } } })
  const items = {
    type: new GraphQLList(item),
    args: { first: { type: GraphQLInt } },
    extensions: { directives: { listSize: [{ slicingArguments: ['first'] }] } },
  }
  const schema = new GraphQLSchema({
    query: new GraphQLObjectType<unknown, { call: Call }>({
      name: 'Query',
      fields: {
        items: { ...items, resolve: () => (served++, []) },
        left: { type: GraphQLInt, resolve: (_, _args, { call }) => call.budget?.remaining },
      },
    }),
    subscription: new GraphQLObjectType({
      name: 'Subscription',
      fields: {
        items: {
          ...items,
          async *subscribe() {
            served++
            yield { items: [] }
          },
        },
      },
    }),
  })

  const doors: [string, (url: string, query: string, authorization: string) => Promise<Answer['body'][]>][] = [
    ['HTTP', async (url, query, authorization) => [(await ask(url, query, { authorization })).body]],
    ['server-sent events', async (url, query, authorization) => (await askEvents(url, query, authorization)).messages],
    ['WebSocket', askSocket],
  ]
  const asUser = async (sub: string): Promise<string> => `Bearer ${await token({ sub })}`

  describe.each(doors)('over %s', (door, send) => {
    const forms = door === 'HTTP' ? ['query'] : ['query', 'subscription']

    test.each(forms)('G01: a %s that is too dear is refused before it runs', async (form) => {
      const { url } = await serve(database, { schema })
      served = 0
      const [answer] = await send(url, `${form} { items(first: 5001) { id } }`, await asUser('ada'))
      expect(answer!.errors![0]!.extensions).toMatchObject({ code: 'COST_LIMIT_EXCEEDED', cost: 5_001, limit: 5_000 })
      expect(answer!.errors![0]!.message).toMatch(/costs 5001 points/)
      await send(url, `${form} { items(first: 5000) { id } }`, await asUser('ada'))
      expect(served).toBe(1)
    })

    test.each(forms)('a %s beyond the budget is told when to come back', async (form) => {
      const { url } = await serve(database, { schema })
      served = 0
      const ada = await asUser('ada')
      const dear = `${form} { items(first: 5000) { id } }`
      for (let turn = 0; turn < 2; turn++) expect((await send(url, dear, ada))[0]!.errors).toBeUndefined()
      const [answer] = await send(url, dear, ada)
      expect(answer!.errors![0]!.extensions).toMatchObject({ code: 'RATE_LIMITED', requestId: expect.any(String) })
      const retryAfter = answer!.errors![0]!.extensions['retryAfter']
      expect(retryAfter).toBeGreaterThan(5)
      expect(retryAfter).toBeLessThanOrEqual(10)
      expect((await send(url, dear, await asUser('alan')))[0]!.errors).toBeUndefined()
      expect(served).toBe(3)
    })

    test('a service has the budget that the operator sets, and else none', async () => {
      const { key } = await apiKey(database)
      const dear = '{ items(first: 5000) { id } }'
      const free = await serve(database, { schema })
      for (let turn = 0; turn < 5; turn++)
        expect((await send(free.url, dear, `Bearer ${key}`))[0]!.errors).toBeUndefined()
      const bound = await serve(database, { schema, config: { serviceBudget: { limit: 100, perSecond: 1 } } })
      expect((await send(bound.url, dear, `Bearer ${key}`))[0]!.errors![0]!.extensions).toMatchObject({
        code: 'COST_LIMIT_EXCEEDED',
        limit: 100,
      })
    })
  })

  test('G01: operations on one socket count one by one', async () => {
    const { url } = await serve(database, { schema })
    const { send, messages, socket } = await rawSocket(url)
    send({ type: 'connection_init', payload: { authorization: await asUser('ada') } })
    await until(() => messages.some(({ type }) => type === 'connection_ack'), 'the socket is open')
    for (const id of ['1', '2', '3'])
      send({ id, type: 'subscribe', payload: { query: '{ items(first: 5000) { id } }' } })
    await until(() => messages.filter(({ type }) => type === 'complete').length === 3, 'all are answered')
    expect(JSON.stringify(messages).split('RATE_LIMITED').length - 1).toBe(1)
    socket.close()
  })

  test('the answer tells what is left, in headers and to the resolvers', async () => {
    const { url } = await serve(database, { schema })
    const ada = await asUser('ada')
    const { headers, body } = await ask(url, '{ items(first: 4000) { id } left }', { authorization: ada })
    expect(body.data).toMatchObject({ left: 6_000 })
    expect(headers.get('ratelimit-policy')).toBe('"points";q=10000;w=20')
    expect(headers.get('ratelimit')).toBe('"points";r=6000;t=8')

    await ask(url, '{ items(first: 5000) { id } }', { authorization: ada })
    const refused = await ask(url, '{ items(first: 5000) { id } }', { authorization: ada })
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBe(refused.body.errors![0]!.extensions['retryAfter'])
    expect(refused.headers.get('ratelimit')).toMatch(/^"points";r=\d+;t=\d+$/)
    const events = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: ada },
      body: JSON.stringify({ query: 'subscription { items(first: 5000) { id } }' }),
    })
    await events.text()
    expect(events.status).toBe(429)
    expect(events.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(events.headers.get('ratelimit-policy')).not.toBeNull()

    const { headers: free } = await ask(url, '{ left }', { authorization: `Bearer ${(await apiKey(database)).key}` })
    expect(free.get('ratelimit')).toBeNull()
  })
})
