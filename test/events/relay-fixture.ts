import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { JobUpdate, JobUpdateBatch } from '../../src/events/job-update.ts'
import type { ProgressHint } from '../../src/events/progress-hint.ts'
import { createRelay, type Relay } from '../../src/events/relay.ts'
import type { Stream } from '../../src/events/stream.ts'
import type { WatchJob } from '../../src/events/watch-job.ts'
import type { WatchJobs } from '../../src/events/watch-jobs.ts'
import type { Queryable } from '../../src/sql/statement.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { registerChore } from './job-moves.ts'

/** One instance's relay as the tests see it. */
export interface TestRelay {
  readonly relay: Relay
  readonly pool: pg.Pool
  /** What its wake-up does after a commit. */
  wake(): void
  /** What its wake-up does with a progress report. */
  report(hint: ProgressHint): void
  /** How many listen to its wake-up. */
  listeners(): number
  /** Names of the statements that the relay ran. */
  readonly statements: string[]
  ofJob(jobId: string, options?: Partial<WatchJob>): Stream<JobUpdate>
  ofJobs(options?: Partial<WatchJobs>): Stream<JobUpdateBatch>
}

export interface RelayFixture {
  database(): TestDatabase
  /** The relay of another instance; a long poll shows what hangs on wake-ups alone. */
  newRelay(pollMs?: number): TestRelay
}

/** A database of the file's own, and relays that are stopped when it is done. */
export function relayFixture(): RelayFixture {
  let database: TestDatabase
  const made: TestRelay[] = []
  beforeAll(async () => {
    database = await testDatabase()
    await registerChore(database.pool)
  })
  afterAll(async () => {
    await Promise.all(made.map(({ relay }) => relay.stop()))
    await Promise.all(made.map(({ pool }) => pool.end()))
    await database.drop()
  })
  return {
    database: () => database,
    newRelay(pollMs = 20) {
      const relay = testRelay(database.url, pollMs)
      made.push(relay)
      return relay
    },
  }
}

function testRelay(url: string, pollMs: number): TestRelay {
  const pool = new pg.Pool({ connectionString: url, options: '-c TimeZone=UTC', max: 4 })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const listeners = new Set<(kinds: null) => void>()
  const progressListeners = new Set<(hint: ProgressHint) => void>()
  const statements: string[] = []
  const db: Queryable = {
    query(config) {
      statements.push(config.name!)
      return pool.query(config)
    },
  }
  const relay = createRelay({
    db,
    wakeup: {
      on: (_, hear) => (listeners.add(hear), () => listeners.delete(hear)),
      onProgress: (hear) => (progressListeners.add(hear), () => progressListeners.delete(hear)),
    },
    pollMs,
  })
  const sees = (): boolean => true
  return {
    relay,
    pool,
    wake: () => listeners.forEach((hear) => hear(null)),
    report: (hint) => progressListeners.forEach((hear) => hear(hint)),
    listeners: () => listeners.size + progressListeners.size,
    statements,
    ofJob: (jobId, options = {}) =>
      relay.watchJob({
        jobId,
        after: null,
        completeOn: ['done', 'dlq', 'failed'],
        progressEveryMs: null,
        sees,
        ...options,
      }),
    ofJobs: (options = {}) =>
      relay.watchJobs({ filter: {}, after: null, windowMs: 0, conflate: false, progress: false, sees, ...options }),
  }
}
