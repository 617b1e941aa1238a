import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { tcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { createSupervisor, mixOf, type Supervisor } from './supervisor.ts'

let database: TestDatabase
let supervisor: Supervisor
let way: TcpProxy

beforeEach(async () => {
  database = await testDatabase()
  supervisor = await createSupervisor({
    ...database,
    settings: { STELLWERK_WORKERS: '60', STELLWERK_DEAD_AFTER_MS: '4000' },
  })
  way = await tcpProxy(database.url)
})

afterEach(async () => {
  await supervisor.end()
  await way.close()
  await database.drop()
})

test('the answer of a claim is lost on its way: the instance finds what it holds', { timeout: 60_000 }, async () => {
  // No poll: else one that found nothing could be on its way, and no other would follow it.
  const service = await supervisor.start({ url: way.url, settings: { STELLWERK_POLL_MS: '30000' } })
  await supervisor.enqueue({ kind: 'quick', count: 1 })
  expect(await supervisor.verdict()).toEqual([])
  // Only the claims of the pool in question name this kind.
  way.mute('fails_always')
  await supervisor.enqueue({ kind: 'slow', count: 40, payload: { ms: 50 } })
  await until(async () => (await supervisor.count('running')) > 0, 'the claim has committed')
  way.cut()
  expect(await supervisor.verdict()).toEqual([])
  // No help from recovery: the claim was found and run.
  expect(await supervisor.journaled('job_recovered')).toBe(0)
  expect(service.runs()).toBe(true)
})

test('the answers of ends are lost on their way: each end is written once', { timeout: 60_000 }, async () => {
  const service = await supervisor.start({ url: way.url })
  for (let round = 0; round < 2; round += 1) {
    const before = await supervisor.count('done')
    // Not only when all run: on a slow machine the first have ended by then.
    way.mute('finish_jobs')
    await supervisor.enqueue(
      { kind: 'slow', count: 30, payload: { ms: 400 } },
      { kind: 'writes', count: 30, payload: { ms: 400 } },
    )
    await until(async () => (await supervisor.count('done')) > before, 'some ends have committed')
    way.cut()
    expect(await supervisor.verdict()).toEqual([])
  }
  expect(service.runs()).toBe(true)
})

test(
  'the network carries nothing for a while, then everything: nothing is lost, nothing runs twice',
  { timeout: 60_000 },
  async () => {
    const service = await supervisor.start({ url: way.url })
    await supervisor.enqueue(...mixOf(6))
    await until(async () => (await supervisor.count('running')) > 20, 'it is under load')
    way.mode('hole')
    await wait(2_500)
    way.mode('open')
    await supervisor.hasten()
    expect(await supervisor.verdict()).toEqual([])
    expect(await supervisor.journaled('job_recovered')).toBe(0)
    expect(service.runs()).toBe(true)
  },
)

test(
  'F02: an instance is cut off for longer than DEAD_AFTER: another does its work, what it finishes late changes nothing, it comes back',
  { timeout: 60_000 },
  async () => {
    const lonely = await supervisor.start({ url: way.url })
    await supervisor.enqueue(
      { kind: 'stubborn', count: 30, payload: { ms: 6_000 } },
      { kind: 'writes', count: 30, payload: { ms: 6_000 } },
    )
    await until(async () => (await supervisor.count('running')) === 60, 'it has them in hand')
    const other = await supervisor.start()
    way.mode('closed')
    await until(async () => (await supervisor.journaled('job_recovered')) >= 60, 'another recovers them')
    await supervisor.hasten()
    way.mode('open')
    expect(await supervisor.verdict(30_000)).toEqual([])
    other.signal('SIGTERM')
    await other.exited
    await supervisor.enqueue({ kind: 'quick', count: 50 })
    expect(await supervisor.verdict()).toEqual([])
    expect(lonely.runs()).toBe(true)
  },
)

test(
  'the database is away for longer than DEAD_AFTER: those who held out are not taken for dead when it is back',
  { timeout: 60_000 },
  async () => {
    const [one, other] = await Promise.all([supervisor.start({ url: way.url }), supervisor.start({ url: way.url })])
    await supervisor.enqueue({ kind: 'slow', count: 120, payload: { ms: 9_000 } })
    await until(async () => (await supervisor.count('running')) === 120, 'all run')
    way.mode('closed')
    await wait(5_500)
    way.mode('open')
    expect(await supervisor.verdict()).toEqual([])
    expect(await supervisor.journaled('job_recovered')).toBe(0)
    expect([one.runs(), other.runs()]).toEqual([true, true])
  },
)
