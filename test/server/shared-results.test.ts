import { Writable } from 'node:stream'
import { buildSchema, parse, type DocumentNode, type GraphQLSchema } from 'graphql'
import { beforeEach, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import type { Hearer } from '../../src/events/stream.ts'
import type { Caller, Scope } from '../../src/jobs/permissions.ts'
import type { Call, Outcome } from '../../src/server/call.ts'
import { LiveCaller } from '../../src/server/live-caller.ts'
import { outcomeText } from '../../src/server/outcome-text.ts'
import { FrameWriter } from '../../src/server/result-frames.ts'
import { sendResults } from '../../src/server/send-results.ts'
import { createSubscribeShared, type Results } from '../../src/server/shared-results.ts'
import { until } from '../support/until.ts'

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

/** What is in a row of frames. */
function read(frames: Buffer): unknown[] {
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
  return found
}

/** A wire that takes what it is given at once, by copying it, or holds it back until it is let go. */
function wireOf({ takes }: { takes: boolean }) {
  const chunks: Buffer[] = []
  let isHeld = !takes
  let go = (): void => undefined
  const wire = new Writable({
    highWaterMark: 1_000,
    write(chunk: Buffer, _, done) {
      const take = (): void => {
        chunks.push(Buffer.from(chunk))
        done()
      }
      if (isHeld) go = take
      else take()
    },
  })
  const letGo = (): void => {
    isHeld = false
    go()
  }
  return { wire, letGo, told: () => read(Buffer.concat(chunks)) }
}

const openSocket = { readyState: 1, OPEN: 1 } as WebSocket
const untilNever = (): Promise<void> => new Promise(() => undefined)

test('frames of any length hold what they say, several in one buffer', () => {
  for (const size of [0, 10, 50, 100, 200, 65_400, 70_000]) {
    const outcomes: Outcome[] = [{ data: { text: 'ä'.repeat(size) } }, { data: { text: 'b' } }]
    const { wire, told: found } = wireOf({ takes: true })
    const writer = new FrameWriter(openSocket, wire, 'an "id" ü', untilNever)
    void writer.write(outcomes)
    void writer.writeOne(outcomes[0]!)
    expect(found()).toEqual([...outcomes, outcomes[0]].map((payload) => ({ id: 'an "id" ü', type: 'next', payload })))
  }
})

test('a frame that goes to many has the id of each, also where a wire holds it back and is let go later', () => {
  const outcomes: Outcome[] = [{ data: { n: 1 } }, { data: { n: 2 } }]
  const readers = Array.from({ length: 40 }, (_, i) => {
    const id = i % 3 === 0 ? `reader-${i}-long` : `r${10 + i}`
    const held = wireOf({ takes: i % 4 !== 1 })
    return { id, ...held, writer: new FrameWriter(openSocket, held.wire, id, untilNever) }
  })
  for (const outcome of outcomes) for (const { writer } of readers) void writer.writeOne(outcome)
  for (const { letGo } of readers) letGo()
  for (const { id, told: found } of readers)
    expect(found()).toEqual(outcomes.map((payload) => ({ id, type: 'next', payload })))
})

/** A source whose subscribers listen; `tell` does what a reading that they share does. */
function createSource() {
  const listeners = new Map<Hearer<unknown>, Told[]>()
  const asked: Told[][] = []
  const subscribeTo = () => {
    const waiting: Told[] = []
    let mine: Hearer<unknown> | undefined
    let answer: ((step: IteratorResult<Told>) => void) | undefined
    asked.push(waiting)
    return {
      next: () =>
        new Promise<IteratorResult<Told>>((resolve) => {
          const value = waiting.shift()
          if (value === undefined) answer = resolve
          else resolve({ done: false, value })
        }),
      ready: () => waiting.shift(),
      listen(hearer: Hearer<unknown>) {
        if (waiting.length > 0) return false
        listeners.set((mine = hearer), waiting)
        return true
      },
      async return() {
        if (mine !== undefined) listeners.delete(mine)
        answer?.({ done: true, value: undefined })
        return { done: true, value: undefined } as const
      },
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }
  const tell = (value: Told): void => {
    const [first] = listeners.keys()
    first?.crowd!.hear(value, listeners.keys(), (hearer, isTaken) => {
      if (!isTaken) listeners.get(hearer)!.push(value)
      listeners.delete(hearer)
    })
  }
  return { subscribeTo, tell, listening: () => listeners.size }
}

/** Subscriptions as sockets have them, all with one token's rights, and what was written to each. */
async function crowdOf(count: number, asked: DocumentNode) {
  const source = createSource()
  schema.getSubscriptionType()!.getFields()['told']!.subscribe = source.subscribeTo as never
  const caller = callOf(['READ_JOBS', 'READ_PAYLOADS']).caller!
  const members = await Promise.all(
    Array.from({ length: count }, async () => {
      const live = new LiveCaller(caller)
      const call: Call = { ...callOf([]), caller: live }
      const stream = (await subscribe({ schema, document: asked, variableValues: {} }, call)) as Results
      const written: unknown[] = []
      const room: (() => void)[] = []
      let isFull = false
      const note = (outcomes: readonly Outcome[]): Promise<void> | undefined => {
        written.push(...outcomes.map(({ data }) => (data as { told: unknown }).told))
        return isFull ? new Promise((resolve) => room.push(resolve)) : undefined
      }
      const sent = sendResults(stream, { writeOne: (outcome) => note([outcome]), write: note })
      const yielded: Outcome[] = []
      const ended = (async () => {
        for await (const outcome of sent) yielded.push(outcome)
      })()
      const fill = (): void => void (isFull = true)
      const drain = (): void => {
        isFull = false
        for (const go of room.splice(0)) go()
      }
      return { live, written, yielded, fill, drain, end: () => sent.return(undefined), ended }
    }),
  )
  const listening = (): Promise<true> => until(() => source.listening() === count, 'they listen')
  await listening()
  return { ...source, members, listening }
}

const secretly = parse('subscription { told { n secret } }')

test('a crowd is told by one execution, and each by its rights at that moment', async () => {
  const { tell, members, listening } = await crowdOf(5, secretly)
  tell({ n: 1 })
  expect(executed).toBe(1)
  const lost = members[0]!
  lost.live.present = callOf(['READ_JOBS']).caller!
  tell({ n: 2 })
  await until(() => lost.written.length === 2, 'who has other rights is told by itself')
  const whole = (n: number) => ({ n, secret: 'the payload' })
  expect(lost.written).toEqual([whole(1), { n: 2, secret: null }])
  for (const { written } of members.slice(1)) expect(written).toEqual([whole(1), whole(2)])
  expect(executed).toBe(3)
  await listening()
  for (const { end } of members) await end()
})

test('who has no room is told no more until it has, and the others go on', async () => {
  const { tell, members, listening } = await crowdOf(4, secretly)
  const slow = members[1]!
  slow.fill()
  tell({ n: 1 })
  tell({ n: 2 })
  expect(members.map(({ written }) => written.length)).toEqual([2, 1, 2, 2])
  slow.drain()
  await listening()
  tell({ n: 3 })
  expect(members.map(({ written }) => written.length)).toEqual([3, 2, 3, 3])
  for (const { end } of members) await end()
})

test('what takes time, and what fails, is asked for by each, in order', async () => {
  for (const field of ['late', 'broken']) {
    const { tell, members, listening } = await crowdOf(3, parse(`subscription { told { n ${field} } }`))
    tell({ n: 1 })
    await listening()
    tell({ n: 2 })
    await listening()
    for (const { written, yielded } of members) {
      const told = [...written, ...yielded.map(({ data }) => (data as { told: { n: number } }).told)]
      expect(told.map((each) => (each as { n: number }).n)).toEqual([1, 2])
      expect(yielded.length).toBe(field === 'broken' ? 2 : 0)
    }
    for (const { end, ended } of members) {
      await end()
      await ended
    }
  }
})
