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

test('every query of the presets', async () => {
  const { url } = await serve(api, {
    schema: buildSchema(),
    contextFor: (call) => createRequestContext(api.deps, { ...call, budget: () => call.budget }),
    authenticate: createAuthenticate({
      findApiKey: (key) => findApiKey(api.pool, key),
      verifyJwt: () => Promise.reject(new Error('no JWT here')),
    }),
  })
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
