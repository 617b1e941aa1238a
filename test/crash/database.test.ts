import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../support/until.ts'
import { restartableServer, type RestartableServer } from './restartable-server.ts'
import type { Service } from '../support/service.ts'
import { createSupervisor, mixOf, type Supervisor } from './supervisor.ts'

let server: RestartableServer
let supervisor: Supervisor
let service: Service

beforeEach(async () => {
  server = await restartableServer()
  // No instance may be taken for dead here: what is lost or done twice would be the fault of the database's absence alone.
  supervisor = await createSupervisor({
    ...server,
    settings: { STELLWERK_WORKERS: '100', STELLWERK_DEAD_AFTER_MS: '15000', STELLWERK_HEARTBEAT_MS: '1000' },
  })
  service = await supervisor.start()
})

afterEach(async () => {
  await supervisor.end()
  await server.end()
})

async function underLoad(): Promise<void> {
  await supervisor.enqueue(...mixOf(6))
  await until(async () => (await supervisor.count('running')) > 20, 'it is under load')
}

/** The same process did everything, no run was lost to a recovery, and the laws hold. */
async function expectHarmless(): Promise<void> {
  await supervisor.hasten()
  expect(await supervisor.verdict(25_000)).toEqual([])
  expect(service.runs()).toBe(true)
  expect(await supervisor.journaled('job_recovered')).toBe(0)
}

describe('F12: PostgreSQL', () => {
  test(
    'is restarted fast under load: nothing is lost, nothing runs twice, no attempt is spent on it',
    { timeout: 60_000 },
    async () => {
      for (let round = 0; round < 2; round += 1) {
        await underLoad()
        await server.restart('fast', 300)
      }
      await expectHarmless()
    },
  )

  test(
    'crashes under load: nothing is lost, each end is written once, no attempt is spent on it',
    { timeout: 60_000 },
    async () => {
      for (let round = 0; round < 3; round += 1) {
        await underLoad()
        await server.restart('immediate')
      }
      await expectHarmless()
    },
  )

  test('is away for longer than handlers try to commit: they go on trying', { timeout: 60_000 }, async () => {
    await supervisor.enqueue({ kind: 'writes', count: 100, payload: { ms: 700 } })
    await until(async () => (await supervisor.count('running')) === 100, 'all run')
    await server.restart('fast', 5_000)
    await expectHarmless()
  })

  test('takes no writes for some seconds: the work waits, and goes on', { timeout: 60_000 }, async () => {
    await underLoad()
    await supervisor.enqueue({ kind: 'writes', count: 60, payload: { ms: 700 } })
    await readOnly('on')
    await wait(4_000)
    await readOnly('off')
    await expectHarmless()
  })
})

test(
  'C01: all backends are terminated every second under load: the process survives, no job is lost or doubled',
  { timeout: 60_000 },
  async () => {
    for (let second = 0; second < 5; second += 1) {
      await supervisor.enqueue(...mixOf(3))
      await wait(1_000)
      await server.sql(
        'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()',
      )
    }
    await expectHarmless()
  },
)

/** As a failover to a standby looks for those who stay connected. */
async function readOnly(value: 'on' | 'off'): Promise<void> {
  await server.sql(`alter system set default_transaction_read_only = ${value}`)
  await server.sql('select pg_reload_conf()')
}
