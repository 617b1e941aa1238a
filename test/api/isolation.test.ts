import { setTimeout as wait } from 'node:timers/promises'
import { isInterfaceType, parse, validate, type GraphQLError } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes, type Caller } from '../../src/jobs/permissions.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { randomOperation, type Names, type RandomOperation } from './random-operations.ts'
import { rootFields, type RootField } from './root-fields.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'
import { manyJobs, tenantWithEverything, type TenantData } from './tenant-data.ts'

const random = seededRandom()
const schema = buildSchema()
const operationsEach = 12

let api: TestApi
let alpha: TenantData
let beta: TenantData
/** May do everything, for the tenant alpha alone. */
let ofAlpha: Caller
let ofBeta: Caller
let names: Names & { readonly betaIds: ReadonlySet<string> }

beforeAll(async () => {
  api = await testApi({ environment: 'production' })
  alpha = await tenantWithEverything(api, 'alpha')
  beta = await tenantWithEverything(api, 'beta')
  ofAlpha = caller({ tenantIds: [alpha.id], may: scopes })
  ofBeta = caller({ tenantIds: [beta.id], may: scopes })
  names = await learn()
}, 180_000)
afterAll(() => api?.stop())

/** Everything that beta and alpha can name: found by asking as each of them, in every way that there is. */
async function learn(): Promise<typeof names> {
  const found = {
    alpha: { ids: new Set<string>(), cursors: new Set<string>() },
    beta: { ids: new Set<string>(), cursors: new Set<string>() },
  }
  for (const [who, tenant, as] of [
    [found.alpha, alpha, ofAlpha],
    [found.beta, beta, ofBeta],
  ] as const) {
    for (const id of [tenant.id, `tenant_${tenant.key}`, tenant.key, ...tenant.ids]) who.ids.add(id)
    for (let round = 0; round < 8; round++) {
      const known: Names = { ids: [...who.ids], cursors: ['none'], kinds, texts: tenant.texts }
      for (const root of rootFields.filter(({ operation }) => operation === 'query')) {
        const { data } = await api.run(randomOperation(root, known, random, { bare: round % 2 === 0 }).document, {}, as)
        for (const [name, value] of leaves(data)) {
          if (/(^|_)(id|jobId)$/.test(name)) who.ids.add(value)
          if (/cursor$/i.test(name)) who.cursors.add(value)
        }
      }
    }
  }
  const shared = found.alpha.ids
  const betaIds = new Set([...found.beta.ids].filter((id) => !shared.has(id) && !isEverybodys(id)))
  // Bare keys find what their node ids find.
  const bare = [...betaIds].flatMap((id) => /_([0-9a-f]{8}-[0-9a-f-]{27})/.exec(id)?.[1] ?? [])
  return {
    // Most jobs of beta are dead ones, which few operations are about: those in other states are named as often.
    ids: [...shared, ...betaIds, ...betaIds, ...bare, ...Array.from({ length: 6 }, () => beta.ids).flat()],
    cursors: [...found.alpha.cursors, ...found.beta.cursors],
    kinds,
    texts: [...alpha.texts, ...beta.texts],
    betaIds: new Set([...betaIds, ...bare]),
  }
}

const kinds = ['echo', 'resize_image', 'email_send']
/** Kinds, machines and causes of death belong to no tenant; who acted is no thing of theirs. */
const isEverybodys = (id: string): boolean => /^(kind|worker|instance|deadletters)_/.test(id) || !/^[a-z]+_./.test(id)

/** Every text and number of an answer, by the name of its field. */
function* leaves(value: unknown, name = ''): Generator<[name: string, value: string]> {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') yield [name, String(value)]
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) for (const each of value) yield* leaves(each, name)
  else for (const [key, each] of Object.entries(value)) yield* leaves(each, key)
}

/** What of beta's is in an answer, but for what was asked with. */
function leaksIn(answer: unknown, given: readonly string[]): string[] {
  const asked = new Set(given.flatMap(wordsOf))
  return [...leaves(answer)].flatMap(([name, value]) => {
    const isCount = /(^|_)(count|pending|scheduled|running|dlq|failed|matched|processed|succeeded|created)$/.test(name)
    if (isCount && Number(value) >= manyJobs / 2) return [`${name} counts ${value}`]
    const told = wordsOf(value).find(
      (word) => (names.betaIds.has(word) && !asked.has(word)) || word.includes(beta.secret),
    )
    return told === undefined ? [] : [`${name} tells ${told}`]
  })
}

/** Ids and secrets are words; cursors are looked into. */
function wordsOf(text: string): string[] {
  const words = [text, Buffer.from(text, 'base64url').toString()].flatMap((readable) =>
    readable.split(/[^A-Za-z0-9_-]+/),
  )
  return words.flatMap((word) => [word, ...(/[0-9a-f]{8}-[0-9a-f-]{27}/.exec(word) ?? [])])
}

/** The rows of every table that speak of beta. */
async function rowsOfBeta(): Promise<Record<string, string>> {
  const tables = await api.sql<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'mdm' and table_type = 'BASE TABLE' and table_name not in ('aa_stat_cursor')`,
  )
  const rows: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await api.sql<{ hash: string }>(
      `select count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as hash from mdm.${name} t where strpos(t::text, $1) > 0 or strpos(t::text, $2) > 0`,
      [beta.id, beta.secret],
    )
    rows[name] = row!.hash
  }
  return rows
}

const foreseen = ['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'BAD_USER_INPUT']
function expectForeseen(errors: readonly GraphQLError[], { document }: RandomOperation): void {
  for (const error of errors) {
    const code =
      codeOf({ data: null, errors: [error] }) ??
      (/^(Argument|Variable|Expected|Value)/.test(error.message) ? 'BAD_USER_INPUT' : 'INTERNAL')
    expect(foreseen, `${error.message} ${String(error.originalError?.stack)} in ${document}`).toContain(code)
  }
}

/** The sorts of things of which none of these ids is one. */
async function typesWithout(ids: Iterable<string>, who: Caller): Promise<string[]> {
  const node = schema.getType('Node')
  const types = isInterfaceType(node) ? schema.getPossibleTypes(node).map(({ name }) => name) : []
  const asked = [...ids]
  const seen = new Set<string>()
  for (let from = 0; from < asked.length; from += 100) {
    const document = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }'
    const { data } = await api.run(document, { ids: asked.slice(from, from + 100) }, who)
    for (const found of data.nodes) if (found !== null) seen.add(found.__typename)
  }
  return types.filter((type) => !seen.has(type))
}

test('both tenants have everything that there is: whoever makes a new sort of thing adds it to tenant-data.ts', async () => {
  expect(await typesWithout(names.ids, ofAlpha)).toEqual([])
  expect((await typesWithout(names.betaIds, ofBeta)).toSorted()).toEqual(['Instance', 'JobKind', 'Worker'])
})

test(`the same operations by who may see beta do find it (SEED=${random.seed})`, async () => {
  const telling = new Set<string>()
  for (const root of rootFields.filter(({ operation }) => operation === 'query'))
    for (let run = 0; run < 100 * operationsEach && !telling.has(root.name); run++) {
      const operation = randomOperation(root, names, random, { bare: run % 2 === 0 })
      const { data } = await api.run(operation.document, {}, admin)
      if (leaksIn(data, operation.given).length > 0) telling.add(root.name)
    }
  const silent = rootFields.filter(({ operation, name }) => operation === 'query' && !telling.has(name))
  expect(silent.map(({ name }) => name)).toEqual([])
  const before = await rowsOfBeta()
  const change = 'mutation { setTenantWeight(input: { tenantId: "beta", weight: 7 }) { errors { message } } }'
  expect((await api.run(change, {}, admin)).data.setTenantWeight.errors).toEqual([])
  expect(await rowsOfBeta()).not.toEqual(before)
}, 180_000)

test("no id of beta's is the id of anything to alpha", async () => {
  const ids = [...names.betaIds, ...beta.ids]
  for (let from = 0; from < ids.length; from += 100) {
    const document = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }'
    const { data, errors } = await api.run(document, { ids: ids.slice(from, from + 100) }, ofAlpha)
    expect(errors).toEqual([])
    expect(data.nodes.filter((found: unknown) => found !== null)).toEqual([])
  }
})

describe(`random operations of alpha find and change nothing of beta's (SEED=${random.seed})`, () => {
  const fields = rootFields.filter(({ operation }) => operation !== 'subscription')
  test.each(fields)(
    '$operation $name',
    async (root: RootField) => {
      const before = await rowsOfBeta()
      let valid = 0
      for (let run = 0; run < operationsEach; run++) {
        const operation = randomOperation(root, names, random)
        if (validate(schema, parse(operation.document)).length > 0) continue
        valid += 1
        const { data, errors } = await api.run(operation.document, {}, ofAlpha)
        const said = [
          data,
          errors.map(({ message, extensions, originalError }) => ({ message, extensions, more: { ...originalError } })),
        ]
        expect(leaksIn(said, operation.given), operation.document).toEqual([])
        expectForeseen(errors, operation)
        if (root.name === 'setTenantActive')
          await api.sql(`update mdm.aa_tenant set status = 'active' where id = $1`, [alpha.id])
      }
      expect(valid).toBeGreaterThan(operationsEach / 2)
      expect(await rowsOfBeta()).toEqual(before)
    },
    60_000,
  )
})

test(`S06: streams of alpha's hear nothing of beta (SEED=${random.seed})`, async () => {
  const heard: unknown[] = []
  const given: string[] = []
  const streams: AsyncGenerator[] = []
  const opening: Promise<void>[] = []
  const open = async (document: string, as: Caller, into: unknown[]): Promise<void> => {
    const stream = await api.subscribe(document, {}, as)
    if ('errors' in stream) return void into.push(stream.errors!.map(({ message }) => message))
    const messages = stream as AsyncGenerator
    streams.push(messages)
    void (async () => {
      for await (const message of messages) into.push(message)
    })()
  }
  for (const root of rootFields.filter(({ operation }) => operation === 'subscription'))
    for (let run = 0; run < operationsEach; run++) {
      const operation = randomOperation(root, names, random)
      if (validate(schema, parse(operation.document)).length > 0) continue
      given.push(...operation.given)
      opening.push(open(operation.document, ofAlpha, heard))
    }
  await Promise.all(opening)
  const all = 'subscription { jobs(window: "PT0S") { updates { jobId event { reason } job { payload } } } }'
  const [own, theirs]: [unknown[], unknown[]] = [[], []]
  await open(all, ofAlpha, own)
  await open(all, ofBeta, theirs)

  const move = (who: Caller) =>
    api.run(
      `mutation { enqueueJob(input: { job: { custom: { kind: "echo", payload: { by: "${who === ofBeta ? beta.secret : 'alpha'}" } } } }) { job { id } } }`,
      {},
      who,
    )
  for (let round = 0; round < 5; round++) await move(ofBeta)
  await until(() => JSON.stringify(theirs).split(beta.secret).length > 5, 'beta hears of its own')
  await move(ofAlpha)
  await until(() => own.length > 0, 'alpha hears of its own')
  // A stream that gathers does so for a second.
  await wait(1_100)
  await Promise.all(streams.map((stream) => stream.return(undefined)))
  expect(heard.length).toBeGreaterThan(10)
  // What was asked with may be said again, and what beta said may not.
  expect(leaksIn([heard, own], given)).toEqual([])
  expect(leaksIn(theirs, []).length).toBeGreaterThan(4)
}, 90_000)
