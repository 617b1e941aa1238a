import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { getIntrospectionQuery, parse } from 'graphql'
import type { Caller } from '../../src/jobs/permissions.ts'
import { createAdmit } from '../../src/server/admit.ts'
import { measureDocument } from '../../src/server/measure-document.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { apiKey, ask, askEvents, askSocket, serve, stopServers } from './support.ts'

let database: TestDatabase
let admin: string

beforeAll(async () => {
  database = await testDatabase()
  admin = `Bearer ${(await apiKey(database)).key}`
})
afterEach(stopServers)
afterAll(() => database.drop())

const times = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => make(index)).join(' ')
const nested = (levels: number): string => `{ ${'node { '.repeat(levels - 1)}id${' }'.repeat(levels - 1)} }`
/** Each fragment uses the one before twice: 2^40 fields from 400 tokens. */
const bomb = `{ node { ...f40 } } fragment f0 on Node { id } ${times(40, (index) => `fragment f${index + 1} on Node { ...f${index} ...f${index} }`)}`
const circle = '{ node { ...a } } fragment a on Node { ...b } fragment b on Node { ...a }'

const tooLarge: [what: string, query: string, message: RegExp][] = [
  ['3,000 aliases of a mutation', `mutation { ${times(3_000, (index) => `a${index}: change`)} }`, /2000 tokens/],
  [
    '31 aliases',
    `mutation { ${times(15, (index) => `a${index}: change`)} } fragment f on Node { ${times(31, (index) => `a${index}: id`)} }`,
    /30 aliases/,
  ],
  ['21 root fields', `mutation { ${times(21, () => 'change')} }`, /20 fields at its root/],
  ['200 levels', nested(200), /10 levels/],
  ['11 levels', nested(11), /10 levels/],
  ['a bomb of fragments', bomb, /500 fields/],
  ['21 directives', `{ who ${times(21, () => '@include(if: true)')} }`, /20 directives/],
  [
    '17 levels of introspection',
    `{ __schema { types { ${'ofType { '.repeat(14)}name${' }'.repeat(14)} } } }`,
    /16 levels of fields in introspection/,
  ],
  ['fragments in a circle', circle, /Cannot spread fragment/],
]

describe.each(tooLarge)('G01: %s', (_, query, message) => {
  test.each([
    ['HTTP', async (url: string) => [(await ask(url, query, { authorization: admin })).body]],
    ['server-sent events', async (url: string) => (await askEvents(url, query, admin)).messages],
    ['WebSocket', (url: string) => askSocket(url, query, admin)],
  ])('over %s is refused before anything runs', async (_door, send) => {
    const { url, seen } = await serve(database)
    const [answer] = await send(url)
    expect(answer!.errors![0]!.message).toMatch(message)
    expect(answer!.errors![0]!.extensions).toMatchObject({
      code: expect.stringMatching(/^GRAPHQL_/),
      requestId: expect.any(String),
    })
    expect(answer!.data ?? null).toBeNull()
    expect(seen.mutations).toBe(0)
  })
})

test.each([
  ['30 aliases', `{ ${times(20, (index) => `a${index}: who`)} } `],
  ['10 levels', nested(10)],
  ['20 root fields', `{ ${times(20, () => 'who')} }`],
  ['20 directives', `{ who ${times(20, () => '@include(if: true)')} }`.replaceAll(/@include\(if: true\)(?= @)/g, '')],
])('%s are let in', async (_, query) => {
  const { url } = await serve(database)
  expect((await ask(url, query)).status).toBe(200)
})

test('the query by which tools learn the schema is let in, for who is signed in', async () => {
  const { url } = await serve(database)
  const query = getIntrospectionQuery({
    inputValueDeprecation: true,
    specifiedByUrl: true,
    schemaDescription: true,
    directiveIsRepeatable: true,
  })
  expect((await ask(url, query, { authorization: admin })).status).toBe(200)
  for (const send of [
    async () => [(await ask(url, query)).body],
    async () => (await askEvents(url, query)).messages,
    () => askSocket(url, query),
  ]) {
    expect((await send())[0]!.errors![0]!.extensions).toMatchObject({ code: 'UNAUTHENTICATED' })
  }
})

test('a document is measured once, its caller is asked about each time', () => {
  const admit = createAdmit()
  const introspection = '{ __schema { queryType { name } } }'
  const caller: Caller = {
    principal: { id: 'ada', name: null, kind: 'USER' },
    scopes: new Set(),
    tenantIds: 'all',
    expiresAt: null,
  }
  expect(admit(introspection, caller)).toBe(admit(introspection, caller))
  expect(() => admit(introspection, null)).toThrow(/signed-in/)
})

test('measures what an operation holds, its fragments filled in', () => {
  const query = `
    query A @a { x: one { ...f ... on T @b { two } } ...r }
    query B { short }
    fragment f on T { three: y { four } z @c }
    fragment r on Query { five ...g }
    fragment g on Query { six: seven { __type { name } } }`
  expect(measureDocument(parse(query))).toEqual({
    depth: 3,
    introspectionDepth: 2,
    rootFields: 3,
    aliases: 3,
    directives: 3,
    fields: 9,
  })
})

test('40 levels of doubling fragments are measured in no time', () => {
  const started = performance.now()
  expect(measureDocument(parse(bomb)).fields).toBe(2 ** 40 + 1)
  expect(performance.now() - started).toBeLessThan(200)
})
