import { setTimeout as wait } from 'node:timers/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import type { Exit, Service } from '../support/service.ts'
import { createSupervisor, mixOf, type Supervisor } from './supervisor.ts'

// Several processes start in each test; a machine that is busy takes its time.
vi.setConfig({ testTimeout: 60_000 })

const shutdownMs = 5_000
const startWithinMs = 30_000
const aMinute = { ms: 60_000 }

let database: TestDatabase
let supervisor: Supervisor

beforeEach(async () => {
  database = await testDatabase()
  supervisor = await createSupervisor({
    ...database,
    settings: { STELLWERK_WORKERS: '200', STELLWERK_SHUTDOWN_MS: String(shutdownMs) },
  })
})

afterEach(async () => {
  await supervisor.end()
  await database.drop()
})

/** Ends the service with SIGTERM and answers how it ended, and after how long. */
async function terminate(service: Service): Promise<Exit & { readonly afterMs: number }> {
  const signalledAt = performance.now()
  service.signal('SIGTERM')
  const exit = await service.exited
  return { ...exit, afterMs: exit.at - signalledAt }
}

async function running(count: number): Promise<void> {
  await until(async () => (await supervisor.count('running')) >= count, `${count} jobs run`)
}

/** Everything went back: nothing runs, no attempt was counted, no claim is left, and the instance has signed off. */
async function expectGivenBack(): Promise<void> {
  const left = `select j.job_kind, j.status, j.attempts, array_agg(a.action::text order by a.revision) as journal, min(a.payload::text) as why
    from mdm.aa_job j join mdm.aa_audit_log a on a.job_id = j.id
   where j.status = 'running' or j.status = 'pending' and j.attempts > 0 group by j.id limit 5`
  expect(await database.sql(left)).toEqual([])
  expect(await database.sql('select instance_id, job_ids from mdm.aa_claim')).toEqual([])
  expect(await database.sql('select id from mdm.aa_instance')).toEqual([])
}

/** Another instance does what was given back, now quickly. */
async function expectDoneByAnother(): Promise<void> {
  await database.sql(`update mdm.aa_job set payload = '{"ms": 10}' where status = 'pending'`)
  await supervisor.start()
  expect(await supervisor.verdict()).toEqual([])
}

describe('O01: SIGTERM', () => {
  test('while it is starting: exit 0', { timeout: 60_000 }, async () => {
    const service = await supervisor.launch()
    await until(() => existsSync(join(service.dataDir, 'run.json')), 'it has begun to start', startWithinMs)
    expect(await terminate(service)).toMatchObject({ code: 0 })
    expect(service.said('started')).toBe(0)
  })

  test('while it waits for its database: exit 0 at once', { timeout: 60_000 }, async () => {
    const way = await tcpProxy(database.url)
    way.mode('closed')
    const service = await supervisor.launch({ url: way.url })
    await until(() => service.output().includes('Trying again every second'), 'it waits', startWithinMs)
    const exit = await terminate(service)
    expect(exit).toMatchObject({ code: 0 })
    expect(exit.afterMs).toBeLessThan(2_000)
    await way.close()
  })

  test('when it is idle, by SIGINT as well: exit 0 at once, and the instance signs off', async () => {
    const service = await supervisor.start({ command: 'start' })
    const signalledAt = performance.now()
    service.signal('SIGINT')
    const exit = await service.exited
    expect(exit).toMatchObject({ code: 0 })
    expect(exit.at - signalledAt).toBeLessThan(2_500)
    await expectGivenBack()
  })

  test('under load: what is not finished goes back at once and costs no attempt', async () => {
    const service = await supervisor.start()
    await supervisor.enqueue(...mixOf(4), { kind: 'slow', count: 400, payload: aMinute })
    await running(190)
    const exit = await terminate(service)
    expect(exit).toMatchObject({ code: 0 })
    expect(exit.afterMs).toBeLessThan(shutdownMs)
    expect(await supervisor.count('running')).toBe(0)
    expect(await database.sql('select from mdm.aa_claim')).toEqual([])
    await supervisor.hasten()
    await expectDoneByAnother()
  })

  test(
    'a, between the claim and the start of handlers: in the middle of a drain, twice',
    { timeout: 60_000 },
    async () => {
      for (let round = 0; round < 2; round += 1) {
        const service = await supervisor.start({ settings: { STELLWERK_WORKERS: '8' } })
        await supervisor.enqueue({ kind: 'slow', count: 4_000, payload: { ms: 2 } })
        await until(async () => (await supervisor.count('pending')) < 3_000, 'it drains')
        expect(await terminate(service)).toMatchObject({ code: 0 })
        expect(await supervisor.count('pending')).toBeGreaterThan(0)
        await expectGivenBack()
      }
      await expectDoneByAnother()
    },
  )

  test('b, while handlers ignore their abort: they are given up, exit 0 in time', async () => {
    const service = await supervisor.start()
    await supervisor.enqueue({ kind: 'stubborn', count: 50, payload: aMinute })
    await running(50)
    const exit = await terminate(service)
    expect(exit).toMatchObject({ code: 0 })
    expect(exit.afterMs).toBeLessThan(shutdownMs)
    await expectGivenBack()
    await expectDoneByAnother()
  })

  test('c, twice within a second is one signal: exit 0, everything given back', async () => {
    const service = await supervisor.start()
    await supervisor.enqueue({ kind: 'stubborn', count: 20, payload: aMinute })
    await running(20)
    service.signal('SIGTERM')
    await wait(300)
    service.signal('SIGINT')
    expect(await service.exited).toMatchObject({ code: 0 })
    await expectGivenBack()
  })

  test('c, a second one later than a second: exit 130 at once', async () => {
    const service = await supervisor.start()
    await supervisor.enqueue({ kind: 'stubborn', count: 20, payload: aMinute })
    await running(20)
    service.signal('SIGTERM')
    await wait(1_200)
    const exit = await terminate(service)
    expect(exit).toMatchObject({ code: 130 })
    expect(exit.afterMs).toBeLessThan(500)
  })

  test.each(['closed', 'hole'] as const)(
    'd, while PostgreSQL is away (%s): exit 0 within the time for a shutdown',
    async (mode) => {
      const way = await tcpProxy(database.url)
      const service = await supervisor.start({ url: way.url })
      await supervisor.enqueue({ kind: 'slow', count: 50, payload: aMinute })
      await running(50)
      way.mode(mode)
      const exit = await terminate(service)
      expect(exit).toMatchObject({ code: 0 })
      expect(exit.afterMs).toBeLessThan(shutdownMs + 1_000)
      await way.close()
      await expectRecoveredByAnother()
    },
  )
})

/** What could not be given back is recovered, as after any death. */
async function expectRecoveredByAnother(): Promise<void> {
  // Before the other one starts: it claims what it recovers at once.
  await database.sql(`update mdm.aa_job set payload = '{"ms": 10}' where completed_at is null`)
  await supervisor.start()
  await until(async () => (await supervisor.journaled('job_recovered')) >= 50, 'the jobs are recovered')
  await supervisor.hasten()
  expect(await supervisor.verdict()).toEqual([])
}
