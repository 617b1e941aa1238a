import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { violations, type Sql } from './violations.ts'

/** How many jobs of a kind of `kinds.ts`, and what each of them gets. */
export interface Batch {
  readonly kind: string
  readonly count: number
  readonly payload?: object
  readonly tenant?: string
  readonly priority?: number
  readonly maxAttempts?: number
}

/** Some of every kind that a process survives; 26 times `size` jobs. */
export const mixOf = (size: number): Batch[] => [
  { kind: 'quick', count: 8 * size },
  { kind: 'slow', count: 8 * size, payload: { ms: 500 } },
  { kind: 'writes', count: 5 * size, payload: { ms: 150 } },
  { kind: 'fails_once', count: 2 * size },
  { kind: 'fails_always', count: size },
  { kind: 'retries_later', count: size },
  { kind: 'snoozes', count: size },
]

export interface Supervisor {
  /** Starts an instance, in a data directory of its own unless one is given; resolves when it has started. */
  start(options?: StartOptions): Promise<Service>
  /** The same without waiting. */
  launch(options?: StartOptions): Promise<Service>
  enqueue(...batches: readonly Batch[]): Promise<void>
  /** How many jobs have this status. */
  count(status: string, kind?: string): Promise<number>
  /** How many rows of the journal tell of this action. */
  journaled(action: string): Promise<number>
  /** How many jobs this process holds, or held when it died. */
  heldBy(service: Service): Promise<number>
  /** Lets jobs that wait out a backoff or the spread of a recovery run now. */
  hasten(): Promise<void>
  /** Waits until nothing is pending or running and no claim is left, then answers the laws that are broken. */
  verdict(withinMs?: number): Promise<string[]>
  /** Ends whatever still runs. */
  end(): Promise<void>
}

export interface StartOptions {
  readonly command?: 'start' | 'worker'
  readonly dataDir?: string
  readonly url?: string
  readonly settings?: Readonly<Record<string, string>>
}

interface SupervisorOptions {
  readonly url: string
  readonly sql: Sql
  readonly settings?: Readonly<Record<string, string>>
}

/** Deaths and recoveries in a second instead of half a minute; the claims' own time limit (15 minutes) stays out of reach. */
const smallTimes = {
  PORT: '0',
  STELLWERK_ENV: 'development',
  STELLWERK_KINDS: fileURLToPath(new URL('./kinds.ts', import.meta.url)),
  // The platform's own job is in flight too when a process dies.
  STELLWERK_KIND_CLEANUP_JOBS: JSON.stringify({ maxAttempts: 30 }),
  STELLWERK_CLEANUP_TICK_MS: String(24 * 60 * 60 * 1_000),
  STELLWERK_HEARTBEAT_MS: '300',
  STELLWERK_DEAD_AFTER_MS: '1500',
  STELLWERK_MAINTENANCE_MS: '300',
  STELLWERK_POLL_MS: '500',
  STELLWERK_SHUTDOWN_MS: '5000',
}

/** Runs the real service on a migrated database, lets faults happen to it, and judges by the tables alone. */
export async function createSupervisor({ url, sql, settings = {} }: SupervisorOptions): Promise<Supervisor> {
  const folder = await mkdtemp(join(tmpdir(), 'stellwerk-crash-'))
  const services: Service[] = []
  await sql('create table if not exists written (job_id uuid not null)')

  const launch = async (options: StartOptions = {}): Promise<Service> => {
    const service = startService({
      args: [options.command ?? 'worker'],
      dataDir: options.dataDir ?? join(folder, String(services.length)),
      settings: { ...smallTimes, DATABASE_URL: options.url ?? url, ...settings, ...options.settings },
    })
    services.push(service)
    return service
  }

  return {
    launch,
    async start(options) {
      const service = await launch(options)
      await service.started()
      return service
    },
    async enqueue(...batches) {
      const jobs = batches.flatMap(({ kind, count, payload = {}, tenant, priority, maxAttempts }) =>
        Array.from({ length: count }, () => ({ kind, payload, tenant, priority, max_attempts: maxAttempts })),
      )
      await sql('select count(*) from mdm.enqueue_jobs($1::jsonb)', [JSON.stringify(jobs)])
    },
    async count(status, kind) {
      const [row] = await sql(
        'select count(*)::int as count from mdm.aa_job where status = $1::mdm.job_status and job_kind = coalesce($2, job_kind)',
        [status, kind ?? null],
      )
      return row!.count as number
    },
    async journaled(action) {
      const [row] = await sql(
        'select count(*)::int as count from mdm.aa_audit_log where action = $1::mdm.audit_action',
        [action],
      )
      return row!.count as number
    },
    async heldBy({ pid }) {
      const [row] = await sql(
        `select count(*)::int as count from mdm.aa_job where status = 'running' and split_part(claimed_by, '/', 2) = $1`,
        [String(pid)],
      )
      return row!.count as number
    },
    async hasten() {
      await sql('update mdm.aa_job set available_at = now(), deferred = false where lane = 1')
      await sql(`select pg_notify('mdm_wakeup', '')`)
    },
    async verdict(withinMs = 20_000) {
      const open = (): Promise<Record<string, unknown>[]> =>
        sql(
          `select 1 from mdm.aa_job where status in ('pending', 'running') union all select 1 from mdm.aa_claim limit 1`,
        )
      // What is still open after the time is told by the laws.
      await until(async () => (await open()).length === 0, 'nothing is open', withinMs).catch(() => undefined)
      return violations(sql)
    },
    async end() {
      for (const service of services) service.signal('SIGKILL')
      await Promise.all(services.map((service) => service.exited))
      await rm(folder, { recursive: true, force: true })
    },
  }
}
