import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { WorkersOptions } from '../kinds/support.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

/** How often a test kills at random moments; KILLS=10 looks longer. */
export const kills = Number(process.env['KILLS'] ?? 3)

/** Each death takes an attempt. */
export const survivesKills = JSON.stringify({ maxAttempts: 100, backoff: { baseMs: 50, maxMs: 200, jitter: 0.1 } })

/** A process with workers, one at a time. */
export interface KillableWorkers {
  /** On the data directory of the one that was killed it recovers its jobs, which then need not wait for their turn in the wave. */
  start(options: Omit<WorkersOptions, 'handlersOf'>): Promise<void>
  /** SIGKILL; resolves when it has gone, from the database too. */
  kill(): Promise<void>
}

export function killableWorkers({ url, sql }: Pick<TestDatabase, 'url' | 'sql'>): KillableWorkers {
  const script = fileURLToPath(new URL('./worker.ts', import.meta.url))
  let child: ChildProcess | undefined
  const gone = async (): Promise<boolean> =>
    (
      await sql(
        `select 1 from pg_stat_activity where datname = current_database() and application_name like 'stellwerk%' limit 1`,
      )
    ).length === 0
  return {
    async start(options) {
      child = spawn(process.execPath, [script, url, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
      await Promise.race([
        once(child.stdout!, 'data'),
        once(child, 'exit').then(([code]) =>
          Promise.reject(new Error(`The worker ended with ${code} instead of starting.`)),
        ),
      ])
      await sql(`update mdm.aa_job set available_at = now(), deferred = false where status = 'pending' and deferred`)
      await sql(`select pg_notify('mdm_wakeup', '')`)
    },
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      await until(async () => {
        // What waits for a lock notices only after it that nobody is there any more.
        await sql(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and application_name like 'stellwerk%' and wait_event_type = 'Lock'`,
        )
        return gone()
      }, 'the killed process has left the database')
    },
  }
}
