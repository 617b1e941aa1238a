import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readFileSync } from 'node:fs'
import { Kind, OperationTypeNode, parse, print, type OperationDefinitionNode } from 'graphql'
import { createRequestContext } from '../../src/resolvers/context.ts'
import { findApiKey } from '../../src/resolvers/find-api-key.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { createAuthenticate } from '../../src/server/auth.ts'
import { ApiError } from '../../src/resolvers/api-error.ts'
import { testApi, type TestApi } from '../api/support.ts'
import { apiKey, serve, stopServers } from './support.ts'

// A query or mutation that wants JSON runs without yoga's Fetch layer; one that would also take events goes through it. Both must
// answer alike, to the byte of what a caller reads.

let api: TestApi
let admin: string
beforeAll(async () => {
  api = await testApi()
  admin = `Bearer ${(await apiKey(api)).key}`
})
afterEach(stopServers)
afterAll(() => api.stop())

const ways = { directly: 'application/json', 'through yoga': 'application/json, text/event-stream' }
const ownHeaders = ['x-request-id', 'date', 'ratelimit', 'connection', 'keep-alive', 'content-length']

async function answerBy(accept: string, url: string, body: string, authorization: string | null) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept,
      'x-request-id': 'the-same',
      ...(authorization !== null && { authorization }),
    },
    body,
  })
  const headers = [...response.headers].filter(([name]) => !ownHeaders.includes(name))
  return { status: response.status, headers: Object.fromEntries(headers), text: await response.text() }
}

/** The answer of both; `steady` takes out what differs between any two calls. */
async function expectSame(url: string, body: string, authorization: string | null, steady = (text: string) => text) {
  const [direct, yoga] = [
    await answerBy(ways.directly, url, body, authorization),
    await answerBy(ways['through yoga'], url, body, authorization),
  ]
  expect({ ...direct, text: JSON.parse(steady(direct.text)) }).toEqual({ ...yoga, text: JSON.parse(steady(yoga.text)) })
  return direct
}

const query = (text: string, rest: object = {}): string => JSON.stringify({ query: text, ...rest })
const pairOf = (input: string): string =>
  `query ($n: Int!, $input: Pair!) { a: pair(input: ${input}, number: $n, color: RED) b: pair(input: $input, number: 1, color: GREEN) }`

describe('good and bad operations', () => {
  test.each([
    ['an answer', query('{ who kind scopes }')],
    ['a variable', query('query ($n: Int!) { echo(number: $n) }', { variables: { n: 3 } })],
    ['a change', query('mutation { failToChange }')],
    ['one of two', query('query A { who } query B { kind }', { operationName: 'B' })],
    ['none of two', query('query A { who } query B { kind }')],
    ['one that is not there', query('query A { who }', { operationName: 'C' })],
    ['nothing to run', query('fragment F on Query { who }')],
    ['half of it', query('{ who')],
    ['an unknown field', query('{ whom }')],
    ['a bad variable', query('query ($n: Int!) { echo(number: $n) }', { variables: { n: 'hunter2' } })],
    ['a missing variable', query('query ($n: Int!) { echo(number: $n) }')],
    ['a directive', query('query ($no: Boolean!) { who kind @skip(if: $no) }', { variables: { no: true } })],
    ['a variable inside of an object', query(pairOf('{ number: $n }'), { variables: { n: 3, input: {} } })],
    ['a variable as an object', query(pairOf('$input'), { variables: { n: 3, input: { name: 'a', number: 1 } } })],
    ['an object with a bad value', query(pairOf('$input'), { variables: { n: 3, input: { number: 'hunter2' } } })],
    ['an object with an unknown name', query(pairOf('$input'), { variables: { n: 3, input: { hunter2: 1 } } })],
    ['a list for an object', query(pairOf('$input'), { variables: { n: 3, input: [] } })],
    ['introspection', query('{ __schema { queryType { name } } }')],
    ['a thrown error', query('{ who fail }')],
    ['too much', query(`{ ${Array.from({ length: 21 }, (_, i) => `a${i}: who`).join(' ')} }`)],
    ['extensions', query('{ who }', { extensions: { persistedQuery: { version: 1 } } })],
    ['extensions that are a text', query('{ who }', { extensions: 'x' })],
    ['variables that are a list', query('{ who }', { variables: [] })],
    ['an operation name that is a number', query('{ who }', { operationName: 1 })],
    ['something else', query('{ who }', { more: true })],
    ['no query', '{}'],
    ['null', 'null'],
    ['a list', '[{"query":"{ who }"}]'],
    ['no JSON', '{"query":'],
  ])('%s', async (_, body) => {
    const thrown = () => new ApiError('NOT_FOUND', 'There is none.', { place: 'here' })
    const { url } = await serve(api, { thrown })
    await expectSame(url, body, admin)
    await expectSame(url, body, null)
    await expectSame(url, body, 'Bearer nonsense')
  })

  test.each([
    ['nobody foresaw', () => new Error('secret')],
    ['that is none', () => 'text'],
    ['to come back after', () => new ApiError('RATE_LIMITED', 'Later.', { retryAfter: 3 })],
  ])('an error %s', async (_, thrown) => {
    const { url, lines } = await serve(api, { thrown })
    await expectSame(url, query('{ fail }'), admin)
    await expectSame(url, query('mutation { failToChange }'), admin)
    expect(lines.length % 2).toBe(0)
  })
})

const serveAll = () =>
  serve(api, {
    schema: buildSchema(),
    contextFor: (call) => createRequestContext(api.deps, { ...call, budget: () => call.budget }),
    authenticate: createAuthenticate({
      findApiKey: (key) => findApiKey(api.pool, key),
      verifyJwt: () => Promise.reject(new Error('no JWT here')),
    }),
  })

describe('jobs to enqueue', () => {
  const one = `mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) {
    outcome job { status kind { name } priority tags payload availableAt createdAt } errors { __typename message code path } } }`
  const many = `mutation ($input: EnqueueJobsInput!) { enqueueJobs(input: $input) {
    created results { outcome job { kind { name } payload } errors { message path } } errors { message code path } } }`
  const echo = (payload: unknown, rest: object = {}) => ({ job: { custom: { kind: 'echo', payload } }, ...rest })
  const jobs = (...inputs: object[]) => ({ jobs: inputs })
  test.each([
    ['one', one, echo({ a: [1, null, { b: 'c' }] })],
    [
      'all that may be said',
      one,
      echo({}, { priority: 7, maxAttempts: 2, tags: ['a'], schedule: { after: 'PT1H' }, correlationId: 'c' }),
    ],
    ['a time too far away', one, echo({}, { schedule: { at: '2100-01-01T00:00:00Z' } })],
    ['no time', one, echo({}, { schedule: { at: 'hunter2' } })],
    ['one tag instead of a list', one, echo({}, { tags: 'a' })],
    ['a kind that is not there', one, { job: { custom: { kind: 'ecco', payload: {} } } }],
    ['a tenant that is not there', one, echo({}, { tenantId: 'nowhere' })],
    ['a payload that is none', one, echo('hunter2')],
    ['two kinds', one, { job: { custom: { kind: 'echo', payload: {} }, reindex: { typeKey: 'a' } } }],
    ['no kind', one, { job: {} }],
    ['a name of every object', one, echo({}, { toString: 'hunter2' })],
    ['numbers out of range', one, echo({}, { priority: 100_000, maxAttempts: 2 ** 40 })],
    ['several', many, jobs(echo({ i: 1 }), echo({ i: 2 }, { tenantId: 'default' }))],
    ['a bad one among several', many, jobs(echo({ i: 1 }), echo({ i: 2 }, { priority: -1 }))],
    ['each that can be', many, { ...jobs(echo({ i: 1 }), echo(3)), atomic: false }],
    ['none', many, jobs()],
    ['one instead of a list', many, { jobs: echo({ i: 1 }) }],
  ])('%s', async (_, text, input) => {
    const { url } = await serveAll()
    const steady = (answer: string): string => answer.replaceAll(/"[\d-]{10}T[\d:.]+Z"/g, '"then"')
    await expectSame(url, query(text, { variables: { input } }), admin, steady)
  })
})

test('every query of the presets', async () => {
  const { url } = await serveAll()
  const file = new URL('../../src/server/preset-operations.graphql', import.meta.url)
  const { definitions } = parse(readFileSync(file, 'utf8'))
  // What changes something answers differently the second time.
  const operations = definitions.filter(
    (each): each is OperationDefinitionNode =>
      each.kind === Kind.OPERATION_DEFINITION && each.operation === OperationTypeNode.QUERY,
  )
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).map(print)
  // Ages and instants that the database's clock gives.
  const steady = (text: string): string =>
    text.replaceAll(/"[\d-]{10}T[\d:.]+Z"|:\d+\.\d+(?=[,}])/g, (found) => (found.startsWith('"') ? '"then"' : ':0'))
  let good = 0
  for (const operation of operations) {
    const used = fragments.filter((text) => print(operation).includes(`...${/fragment (\w+)/.exec(text)![1]}`))
    const { status } = await expectSame(url, query([print(operation), ...used].join('\n')), admin, steady)
    if (status === 200) good += 1
  }
  expect(good).toBeGreaterThan(5)
})
