import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

let database: TestDatabase
let supervisor: Supervisor

beforeEach(async () => {
  database = await testDatabase()
  supervisor = await createSupervisor({ ...database, settings: { STELLWERK_WORKERS: '400' } })
})

afterEach(async () => {
  await supervisor.end()
  await database.drop()
})

const mix = [
  { kind: 'quick', count: 300 },
  { kind: 'slow', count: 400, payload: { ms: 600 } },
  { kind: 'writes', count: 200, payload: { ms: 100 } },
  { kind: 'fails_once', count: 50 },
  { kind: 'fails_always', count: 20 },
  { kind: 'retries_later', count: 20 },
  { kind: 'snoozes', count: 20 },
]

describe('kill -9', () => {
  test('F12, F05: four times in a row with hundreds of jobs in flight, each start in the same data directory recovers at once', { timeout: 90_000 }, async () => {
    await supervisor.start().then((first) => first.signal('SIGKILL'))
    for (let round = 0; round < 4; round += 1) {
      await supervisor.enqueue(...(round === 0 ? mix : [{ kind: 'slow', count: 200, payload: { ms: 600 } }]))
    }
    expect(await supervisor.verdict()).toEqual([])
  })
})
