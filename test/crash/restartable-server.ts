import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'pg'
import { databaseFault } from '../../src/jobs/database-fault.ts'
import { startEmbedded } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import type { Sql } from './violations.ts'

/** A PostgreSQL of a test's own, that may be killed. */
export interface RestartableServer {
  readonly url: string
  /** Tries again while the server is away. */
  readonly sql: Sql
  /** `fast`: as an operator restarts it; `immediate`: as if it crashed, what was not flushed is lost. */
  restart(how: 'fast' | 'immediate', awayMs?: number): Promise<void>
  end(): Promise<void>
}

/** Only the disk is not waited for: commits are as durable against a crash of the server as the product's. */
const settings = { fsync: 'off', shared_buffers: '64MB' }
const retryEveryMs = 50
const retryForMs = 15_000

/** Starts a migrated server that can be restarted under those who use it. */
export async function restartableServer(): Promise<RestartableServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-crash-server-'))
  let embedded = await startEmbedded({ dataDir, settings })
  const killNow = (): void => embedded.kill('SIGQUIT')
  process.once('exit', killNow)
  await migrate(embedded.url)
  const pool = new Pool({ connectionString: embedded.url, options: '-c timezone=UTC', max: 4 })
  pool.on('error', () => undefined)

  return {
    url: embedded.url,
    async sql(text, values = []) {
      for (const end = performance.now() + retryForMs; ; await wait(retryEveryMs)) {
        try {
          return (await pool.query<Record<string, unknown>>(text, [...values])).rows
        } catch (error) {
          if (databaseFault(error) !== 'unavailable' || performance.now() > end) throw error
        }
      }
    },
    async restart(how, awayMs = 0) {
      if (how === 'immediate') {
        embedded.kill('SIGQUIT')
        await embedded.exited
      }
      await embedded.stop()
      await wait(awayMs)
      embedded = await startEmbedded({ dataDir, settings })
    },
    async end() {
      process.off('exit', killNow)
      await pool.end()
      await embedded.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
