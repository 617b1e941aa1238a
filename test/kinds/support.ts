import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig, type Config } from '../../src/config.ts'
import { createListener } from '../../src/db/listen.ts'
import { createPools, type Pools } from '../../src/db/pool.ts'
import { createWakeup } from '../../src/events/wakeup.ts'
import { createEvents, type Event, type Events } from '../../src/jobs/event.ts'
import type { ObjectStore } from '../../src/objects/object-store.ts'
import type { BuiltInKind } from '../../src/jobs/kinds.ts'
import { openObjects } from '../../src/objects/open-objects.ts'
import { enqueueOne, type EnqueueInput } from '../../src/sql/enqueue-job.ts'
import { removeFormerInstances } from '../../src/sql/remove-former-instances.ts'
import { createEngine } from '../../src/workers/engine.ts'
import type { Handler } from '../../src/workers/handler.ts'
import { createHandlers } from '../../src/workers/handlers/index.ts'
import { createInstance } from '../../src/workers/instance.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { createMaintenance } from '../../src/workers/maintenance.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { runnableKinds } from '../../src/workers/runnable-kinds.ts'
import { watchRules } from '../workers/support.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

export interface WorkersOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Kept by the caller, for a second instance; else made, and removed at the end. */
  readonly dataDir?: string
  readonly slots?: number
  /** What the pool serves; `email_send` unless given. */
  readonly kinds?: readonly string[]
  /** Handlers in place of the service's own, e.g. with shorter times. */
  readonly handlersOf?: (pools: Pools, parts: WorkerParts) => MaybePromise<Partial<Record<BuiltInKind, Handler>>>
}

/** What a handler of a test's own may be made of. */
export interface WorkerParts {
  readonly config: Config
  readonly events: Events
  readonly store: ObjectStore
  readonly limits: Config['providers']
  readonly onPause: () => void
}

type MaybePromise<Value> = Value | Promise<Value>

export interface JobState {
  readonly status: 'pending' | 'running' | 'done' | 'dlq' | 'failed'
  readonly attempts: number
  readonly lastError: string | null
  readonly result: Record<string, unknown> | null
  /** From the last change until it is due. */
  readonly waitMs: number
}

export interface Workers {
  readonly events: readonly Event[]
  readonly mailbox: Awaited<ReturnType<typeof createHandlers>>['mailbox']
  readonly store: ObjectStore
  enqueue(job: EnqueueInput): Promise<string>
  /** Limits and pauses as they are now are in force. */
  rulesInForce(): Promise<void>
  job(id: string): Promise<JobState>
  /** Waits until the job is in the status, and answers it. */
  reached(id: string, status: JobState['status'], withinMs?: number): Promise<JobState>
  stop(): Promise<void>
}

/** The worker half of an instance with all built-in kinds, on a test's database. */
export async function startWorkers(
  database: Pick<TestDatabase, 'url'>,
  { env = {}, dataDir, slots = 4, kinds = ['email_send'], handlersOf }: WorkersOptions = {},
): Promise<Workers> {
  const config = loadConfig({
    STELLWERK_ENV: 'development',
    DATABASE_URL: database.url,
    STELLWERK_HEARTBEAT_MS: '1000',
    ...env,
  })
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'stellwerk-email-')))
  const told: Event[] = []
  const events = createEvents((error) => {
    throw error
  })
  events.on((event) => told.push(event))
  const pools = createPools(database.url)
  const reads = watchRules(pools)
  const listener = createListener({ url: database.url, onLost: () => undefined, onRestored: () => undefined })
  const catalogue = kindCatalogue([], config.kindOverrides)
  await registerKinds(pools.api, catalogue)
  const instance = createInstance({
    db: pools.commit,
    url: database.url,
    version: 'test',
    dataDir: folder,
    heartbeatMs: config.heartbeatMs,
    onLost: () => engine.dropAll(),
    facts: () => ({ subscriptions: 0, abandoned: engine.abandoned() }),
  })
  const wakeup = createWakeup({ instanceId: instance.id, db: pools.api, listener })
  const maintenance = createMaintenance({
    pool: pools.commit,
    events,
    everyMs: config.maintenanceMs,
    deadAfterMs: config.deadAfterMs,
    onRecovered: () => wakeup.signal('journal'),
  })
  const { store } = await openObjects({ config, dataDir: folder, baseUrl: () => '' })
  const { handlers, mailbox, providers, stop } = await createHandlers({
    config,
    pools,
    dataDir: folder,
    events,
    wakeup,
    maintenance,
    objects: store,
  })
  const onPause = (): void => wakeup.signal('control')
  const ownHandlers = await handlersOf?.(pools, { config, events, store, limits: providers, onPause })
  const engine = createEngine({
    pools,
    kinds: runnableKinds(catalogue, { ...handlers, ...ownHandlers }, []),
    catalogue,
    providers,
    events,
    wakeup,
    instance,
    times: config,
    logLine: () => undefined,
    onProgress: () => undefined,
  })
  await instance.start()
  await removeFormerInstances(pools.api, instance.host, folder, instance.id)
  await maintenance.runOnce()
  await wakeup.start()
  await engine.start([{ name: 'default', slots, kinds, tenantIds: null, dispatch: 'fair' }])

  const job = async (id: string): Promise<JobState> => {
    const { rows } = await pools.api.query<JobState>(
      `select status, attempts, last_error as "lastError", result, extract(epoch from available_at - clock_timestamp())::float8 * 1000 as "waitMs"
         from mdm.aa_job where id = $1`,
      [id],
    )
    return rows[0]!
  }
  return {
    events: told,
    mailbox,
    store,
    async enqueue(input) {
      const { jobId } = await enqueueOne(pools.api, input)
      wakeup.signal('work')
      return jobId
    },
    job,
    rulesInForce: () => reads.inForce(wakeup),
    async reached(id, status, withinMs) {
      return until(
        async () => {
          const state = await job(id)
          return state.status === status ? state : null
        },
        `the job ${id} is ${status}`,
        withinMs,
      )
    },
    async stop() {
      await engine.stop(5_000)
      await stop()
      await wakeup.stop()
      await instance.stop()
      await listener.stop()
      await pools.end()
      if (dataDir === undefined) await rm(folder, { recursive: true, force: true })
    },
  }
}
