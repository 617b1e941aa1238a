import { buildSchema, parse, type GraphQLSchema } from 'graphql'
import { beforeEach, expect, test } from 'vitest'
import type { Caller, Scope } from '../../src/jobs/permissions.ts'
import type { Call, Outcome } from '../../src/server/call.ts'
import { outcomeText } from '../../src/server/outcome-text.ts'
import { createResultFrames } from '../../src/server/result-frames.ts'
import { createSubscribeShared, type Results } from '../../src/server/shared-results.ts'

interface Told {
  readonly n: number
}
interface Context {
  readonly call: Call
}

/** What the sources of all subscriptions yield, in this order. */
let told: Told[] = []
let executed = 0
let schema: GraphQLSchema

beforeEach(() => {
  told = [{ n: 1 }, { n: 2 }, { n: 3 }]
  executed = 0
  schema = buildSchema(`type Query { none: Int }
    type Told { n(times: Int): Int secret: String late: Int broken: Int }
    type Subscription { told(after: String): Told }`)
  const fields = schema.getType('Told') as unknown as { getFields(): Record<string, { resolve: unknown }> }
  const resolvers = {
    n: ({ n }: Told, { times = 1 }: { times?: number }) => ((executed += 1), n * times),
    secret: (_: Told, __: object, { call }: Context) =>
      call.caller!.scopes.has('READ_PAYLOADS') ? 'the payload' : null,
    late: async ({ n }: Told) => n,
    broken: () => {
      throw new Error('broken')
    },
  }
  for (const [name, resolve] of Object.entries(resolvers)) fields.getFields()[name]!.resolve = resolve
  const root = schema.getSubscriptionType()!.getFields()['told']!
  root.resolve = (value) => value as Told
  root.subscribe = async function* () {
    yield* told
  }
})

const subscribe = createSubscribeShared((call) => ({ call }))
const document = parse('subscription ($after: String, $times: Int) { told(after: $after) { n(times: $times) secret } }')

function callOf(scopes: readonly Scope[], tenantIds: 'all' | readonly string[] = 'all'): Call {
  const caller: Caller = {
    principal: { id: 'a', name: null, kind: 'USER' },
    scopes: new Set(scopes),
    tenantIds: tenantIds === 'all' ? 'all' : new Set(tenantIds),
    expiresAt: null,
  }
  return { requestId: 'r', traceparent: null, caller, mutates: false, cost: 0, budget: null }
}

async function results(call: Call, variableValues: object = {}, asked = document): Promise<Outcome[]> {
  const stream = (await subscribe({ schema, document: asked, variableValues: { ...variableValues } }, call)) as Results
  const found: Outcome[] = []
  for await (const outcome of stream) found.push(outcome)
  return found
}

test('the same question with the same rights is executed once, and all get the same object, whatever they resume after', async () => {
  const first = await results(callOf(['READ_JOBS']), { after: 'a' })
  const second = await results(callOf(['READ_JOBS']), { after: 'b' })
  expect(executed).toBe(3)
  expect(second.map((outcome, i) => outcome === first[i])).toEqual([true, true, true])
  expect(outcomeText(second[0]!)).toBe(outcomeText(first[0]!))
})

test('other rights, other tenants, other variables and other documents share nothing', async () => {
  const seen = [
    await results(callOf(['READ_JOBS'])),
    await results(callOf(['READ_JOBS', 'READ_PAYLOADS'])),
    await results(callOf(['READ_JOBS'], ['t1'])),
    await results(callOf(['READ_JOBS'], ['t1', 't2'])),
    await results(callOf(['READ_JOBS']), { times: 5 }),
    await results(callOf(['READ_JOBS']), {}, parse('subscription { told { n secret } }')),
  ]
  expect(executed).toBe(18)
  expect(new Set(seen.map(([outcome]) => outcome)).size).toBe(6)
  const data = seen.map(([outcome]) => (outcome!.data as { told: { n: number; secret: string | null } }).told)
  expect(data.map(({ secret }) => secret)).toEqual([null, 'the payload', null, null, null, null])
  expect(data.map(({ n }) => n)).toEqual([1, 1, 1, 1, 5, 1])
})

test('what takes time is executed once, too, and what fails is nobody else’s', async () => {
  const late = parse('subscription { told { n late } }')
  const all = await Promise.all(Array.from({ length: 5 }, () => results(callOf(['READ_JOBS']), {}, late)))
  expect(executed).toBe(3)
  expect(new Set(all.map(([outcome]) => outcome)).size).toBe(1)
  const broken = parse('subscription { told { n late broken } }')
  executed = 0
  const failed = await Promise.all(Array.from({ length: 3 }, () => results(callOf(['READ_JOBS']), {}, broken)))
  expect(executed).toBe(9)
  expect(new Set(failed.map(([outcome]) => outcome)).size).toBe(3)
})

test('frames of any length hold what they say, several in one buffer', () => {
  for (const size of [0, 10, 50, 100, 200, 65_400, 70_000]) {
    const outcomes: Outcome[] = [{ data: { text: 'ä'.repeat(size) } }, { data: { text: 'b' } }]
    const frames = createResultFrames('an "id" ü')(outcomes)
    const found: unknown[] = []
    for (let at = 0; at < frames.length;) {
      expect(frames[at]).toBe(0x81)
      const short = frames[at + 1]!
      const [start, length] =
        short < 126
          ? [at + 2, short]
          : short === 126
            ? [at + 4, frames.readUInt16BE(at + 2)]
            : [at + 10, Number(frames.readBigUInt64BE(at + 2))]
      found.push(JSON.parse(frames.toString('utf8', start, start + length)))
      at = start + length
    }
    expect(found).toEqual(outcomes.map((payload) => ({ id: 'an "id" ü', type: 'next', payload })))
  }
})
