import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { awaitDatabase } from './await-database.ts'
import { checkKindOverrides, checkPoolKinds, type Config } from './config.ts'
import { makeDataDir } from './db/data-dir.ts'
import { ensurePriorityIndexes } from './db/ensure-priority-indexes.ts'
import { startEmbedded, type EmbeddedPostgres } from './db/embedded.ts'
import { createListener } from './db/listen.ts'
import { createPools } from './db/pool.ts'
import { claimRunFile, type RunFile } from './db/run-file.ts'
import { createQueueNumbers } from './events/queue-numbers.ts'
import { createRelay } from './events/relay.ts'
import { createWakeup } from './events/wakeup.ts'
import { StartError } from './jobs/errors.ts'
import { createEvents } from './jobs/event.ts'
import type { KindCatalogue } from './jobs/kind.ts'
import { createSecretBox } from './jobs/secret-box.ts'
import { openArchive } from './objects/open-archive.ts'
import { openObjects } from './objects/open-objects.ts'
import { logEvents } from './observe/log.ts'
import { createMetrics } from './observe/metrics.ts'
import type { ApiDeps } from './resolvers/context.ts'
import { createEnqueuer } from './resolvers/enqueue-batcher.ts'
import { hasApiKey } from './resolvers/has-api-key.ts'
import { createHealth } from './resolvers/health.ts'
import { createRightsWatch } from './resolvers/rights-watch.ts'
import { receiveEmailReports } from './resolvers/receive-email-reports.ts'
import { createTenantKeys } from './resolvers/tenant-keys.ts'
import { checkProductionAuth } from './server/check-production-auth.ts'
import { ensureDevelopmentToken, ensureJwtSecret, ensureSecretKey } from './server/development-token.ts'
import { createEmailWebhooks } from './server/email-webhooks.ts'
import { createHttpServer } from './server/http.ts'
import { removeFormerInstances } from './sql/remove-former-instances.ts'
import { createBulkRunner } from './workers/bulk-runner.ts'
import type { OwnKind } from './workers/define-kind.ts'
import { createEngine } from './workers/engine.ts'
import { followUpsOf } from './workers/follow-ups.ts'
import { createHandlers } from './workers/handlers/index.ts'
import { createInstance } from './workers/instance.ts'
import { kindCatalogue } from './workers/kind-catalogue.ts'
import { loadKinds } from './workers/load-kinds.ts'
import { createMaintenance } from './workers/maintenance.ts'
import { createPulses } from './workers/pulses.ts'
import { registerKinds } from './workers/register-kinds.ts'
import { createRollup } from './workers/rollup.ts'
import { runnableKinds } from './workers/runnable-kinds.ts'
import { poolSpecs } from './pool-specs.ts'
import { version } from './version.ts'

/** What a started service says of itself. */
export interface Started {
  readonly url: string
  readonly port: number
  readonly databaseUrl: string
  /** Where the development token lies; null in production. */
  readonly tokenPath: string | null
  /** Whether mails go to /dev/mailbox. */
  readonly hasMailbox: boolean
}

export interface App {
  /** Starts everything in order; throws StartError with a sentence for people. */
  start(): Promise<Started>
  /** Stops in reverse order, within STELLWERK_SHUTDOWN_MS. May be called at any moment, also twice. */
  stop(): Promise<void>
  /** Ends what would outlive the process; for a second signal. */
  kill(): void
}

interface AppOptions {
  readonly config: Config
  readonly log: Logger
  /** Kinds beside those of STELLWERK_KINDS. */
  readonly kinds?: readonly OwnKind[]
  /** Told when a started service can do nothing any more, and why. */
  readonly onLost?: (reason: StartError) => void
}

/** Kept back from the shutdown's time for what follows the handlers. */
const shutdownMarginMs = 3_000

/** Puts the parts together. Whatever has been started is on the list of what has to be stopped. */
export function createApp({ config, log, kinds: givenKinds = [], onLost }: AppOptions): App {
  const stops: { readonly what: string; readonly stop: () => unknown }[] = []
  let embedded: EmbeddedPostgres | undefined
  let starting: Promise<Started> | undefined
  let stopping: Promise<void> | undefined
  const aborted = new AbortController()

  /** Throws when the stop came while this was started: it ends with the rest, and the start goes no further. */
  const onStop = (what: string, stop: () => unknown): void => {
    stops.push({ what, stop })
    aborted.signal.throwIfAborted()
  }

  const start = async (): Promise<Started> => {
    if (config.unheeded.length > 0) {
      const names = config.unheeded.join(', ')
      log.warn({ settings: config.unheeded }, `${names} has no effect yet: Redis and OpenTelemetry are not served`)
    }
    const ownKinds = [...givenKinds, ...(config.kindsModule === null ? [] : await loadKinds(config.kindsModule))]
    const catalogue = withCleanupTick(kindCatalogue(ownKinds, config.kindOverrides), config.cleanupTickMs)
    const kindNames = [...catalogue.keys()]
    const strangers = [...checkKindOverrides(config, kindNames), ...checkPoolKinds(config, kindNames)]
    if (strangers.length > 0) throw new StartError(strangers.join('\n'))

    const dataDir = await makeDataDir(config.dataDir)
    const { url, directUrl, runFile } = await openDatabase(dataDir)
    const auth =
      config.auth.jwtSecret === null && config.env === 'development'
        ? { ...config.auth, jwtSecret: await ensureJwtSecret(dataDir) }
        : config.auth
    const secretKey =
      config.secretKey === null && config.env === 'development' ? await ensureSecretKey(dataDir) : config.secretKey
    if (config.smtpUrl === null && config.env === 'production' && config.pools.length > 0)
      log.warn({ setting: 'SMTP_URL' }, 'SMTP_URL is not set: email_send is not served here, and mails wait')
    if (secretKey === null)
      log.warn(
        { setting: 'STELLWERK_SECRET_KEY' },
        'STELLWERK_SECRET_KEY is not set: no webhook endpoints can be made, and files in a folder cannot be sent or read by URL',
      )

    const events = createEvents((error) => log.error({ err: error }, 'a listener failed'))
    onStop('log', logEvents(log, events))
    const pools = createPools(url, {
      directUrl,
      idleInTransactionMs: config.deadAfterMs,
      onError: (pool, error) => events.emit({ type: 'connection:lost', connection: pool, error }),
    })
    onStop('pools', () => pools.end())
    const listener = createListener({
      url: directUrl,
      onLost: (error) => events.emit({ type: 'connection:lost', connection: 'listen', error }),
      onRestored: () => events.emit({ type: 'connection:restored', connection: 'listen' }),
    })
    onStop('listener', () => listener.stop())

    const instance = createInstance({
      db: pools.commit,
      url: directUrl,
      version,
      dataDir,
      heartbeatMs: config.heartbeatMs,
      onLost: () => {
        events.emit({ type: 'instance:lost', instanceId: instance.id })
        engine.dropAll()
      },
      facts: () => ({ subscriptions: relay.openStreams() + queueNumbers.openStreams(), abandoned: engine.abandoned() }),
    })
    const wakeup = createWakeup({ instanceId: instance.id, db: pools.api, listener })
    const relay = createRelay({
      db: pools.relay,
      wakeup,
      pollMs: config.pollMs,
      onError: (error) => events.emit({ type: 'loop:failed', loop: 'relay', error }),
    })
    const queueNumbers = createQueueNumbers(pools.api)
    // Stopped after HTTP: a stream that the relay ended would look complete to its reader, who then would not resume.
    onStop('wakeup', () => wakeup.stop())
    onStop('relay', () => relay.stop())
    onStop('queue numbers', () => queueNumbers.stop())
    const tenantKeys = createTenantKeys(pools.api)
    const rights = createRightsWatch({ db: pools.api, wakeup })
    const followUps = followUpsOf(ownKinds)
    // A loop may be silent for as long as an instance may.
    const pulses = createPulses(config.deadAfterMs)
    const bulkRunner = createBulkRunner({
      pool: pools.commit,
      events,
      pulses,
      wakeup,
      pollMs: config.pollMs,
      followUps,
    })
    const enqueuer = createEnqueuer({
      pool: pools.enqueue,
      wakeup,
      startAtOnce: (job, enqueue) => engine.startAtOnce(job, enqueue),
    })
    const rollup = createRollup({ pool: pools.commit, events, pulses, everyMs: config.maintenanceMs })
    const maintenance = createMaintenance({
      pool: pools.commit,
      events,
      pulses,
      everyMs: config.maintenanceMs,
      deadAfterMs: config.deadAfterMs,
      onRecovered: () => {
        // They come back one after another: their times have to be heard of.
        wakeup.signal('work')
        wakeup.signal('journal')
      },
      followUps,
    })
    let baseUrl = ''
    const objects = await openObjects({ config, dataDir, baseUrl: () => baseUrl })
    onStop('objects', () => objects.close())
    const {
      handlers,
      mailbox,
      providers,
      stop: stopHandlers,
    } = await createHandlers({
      config: { ...config, secretKey },
      pools,
      dataDir,
      events,
      wakeup,
      maintenance,
      objects: objects.store,
    })
    onStop('handlers', stopHandlers)

    const engine = createEngine({
      pools,
      kinds: runnableKinds(catalogue, handlers, ownKinds),
      catalogue,
      providers,
      events,
      pulses,
      wakeup,
      instance,
      times: config,
      logLine: (run, level, message) =>
        log[level]({ jobId: run.id, kind: run.kind, tenantId: run.tenantId, attempt: run.attempts }, message),
      onProgress: (hint) => wakeup.tellProgress(hint),
      onCounted: (living) => wakeup.others(living - 1),
    })
    let startingBecause: string | null = 'The service is starting.'
    const apiDeps: ApiDeps = {
      pools,
      kinds: catalogue,
      relay,
      queueNumbers,
      wakeup,
      enqueuer,
      tenantKeys,
      events,
      environment: config.env,
      version,
      retentionMs: config.retentionDays * 24 * 60 * 60 * 1_000,
      deadAfterMs: config.deadAfterMs,
      followUps,
      secrets: secretKey === null ? null : createSecretBox(secretKey),
      webhookReach: { allow: config.webhookAllow, strict: config.env === 'production' },
      objects,
      maxUploadBytes: config.maxUploadBytes,
      archive: openArchive({ config, dataDir, objects: objects.store }).intake,
    }
    // GraphQL and what belongs to it: 70 MB that workers alone have no use for.
    const { createServiceApi } = config.api ? await import('./api.ts') : { createServiceApi: null }
    const http = createHttpServer({
      config,
      api: createServiceApi?.({ config: { ...config, auth }, deps: apiDeps, rights, objects, log }) ?? null,
      health: createHealth({
        pool: pools.api,
        workersUnfit: () => [
          ...(startingBecause === null ? [] : [startingBecause]),
          ...engine.unfit(),
          ...pulses.missed(),
        ],
      }),
      metrics: createMetrics({
        events,
        db: pools.api,
        subscriptions: () => relay.openStreams() + queueNumbers.openStreams(),
        eventLagSeconds: () => relay.lagSeconds(),
        eventGaps: () => relay.openGaps(),
        abandonedHandlers: () => engine.abandoned(),
        overdueLoops: () => pulses.overdue(),
      }),
      mailbox,
      webhooks: createEmailWebhooks({
        secret: config.mailReports.secret,
        topics: config.mailReports.snsTopics,
        receive: (provider, reports) => receiveEmailReports(pools.api, provider, reports),
      }),
      log,
    })
    // Listens first: /health says that the process lives, /ready why it cannot serve yet.
    const { port, url: httpUrl } = await http.start()
    onStop('http', () => http.stop())
    baseUrl = config.publicUrl?.replace(/\/+$/, '') ?? httpUrl
    await runFile.setPort(port)

    const wanted = { url: directUrl, migrates: config.migrate, log, signal: aborted.signal }
    const { token, differing } = await awaitDatabase(wanted, async () => {
      const refusal = await checkProductionAuth({ env: config.env, auth }, () => hasApiKey(pools.api))
      if (refusal !== null) throw new StartError(refusal)
      return {
        token: config.env === 'development' ? await ensureDevelopmentToken(dataDir, pools.api) : null,
        differing: await registerKinds(pools.api, catalogue),
      }
    })
    if (differing.length > 0) events.emit({ type: 'kinds:differ', kinds: differing })

    await instance.start()
    onStop('instance', () => instance.stop())
    await removeFormerInstances(pools.api, instance.host, dataDir, instance.id)
    await rights.start()
    await wakeup.start()
    await relay.start()
    maintenance.start()
    onStop('maintenance', () => maintenance.stop())
    rollup.start()
    onStop('rollup', () => rollup.stop())
    bulkRunner.start()
    onStop('bulk operations', () => bulkRunner.stop())
    if (config.pools.some(({ dispatch }) => dispatch === 'priority')) await ensurePriorityIndexes(directUrl)
    await engine.start(await poolSpecs(config, tenantKeys))
    onStop('workers', async () => {
      startingBecause = 'The service is shutting down.'
      instance.drain()
      await engine.stop(Math.max(config.shutdownMs - shutdownMarginMs, 0))
    })
    startingBecause = null
    log.info(resolvedConfiguration(config, port), 'started')
    return { url: httpUrl, port, databaseUrl: url, tokenPath: token?.path ?? null, hasMailbox: mailbox !== null }
  }

  /** The embedded server, or the operator's; either way this process is the only owner of its data directory. */
  const openDatabase = async (dataDir: string): Promise<{ url: string; directUrl: string; runFile: RunFile }> => {
    if (config.database.url !== null) {
      const runFile = await claimRunFile(dataDir)
      onStop('run file', () => runFile.release())
      return { url: config.database.url, directUrl: config.database.directUrl ?? config.database.url, runFile }
    }
    embedded = await startEmbedded({ dataDir, log: (line) => log.debug({ line }, 'postgres') })
    const server = embedded
    onStop('embedded PostgreSQL', () => server.stop())
    void server.exited.then(() => {
      if (!aborted.signal.aborted) onLost?.(databaseEnded())
    })
    return { url: server.url, directUrl: server.url, runFile: server.runFile }
  }

  const kill = (): void => embedded?.kill('SIGINT')

  /** Claims that cannot be given back because the database is away would be waited for without end: they are recovered, as after a death. */
  const stopInTime = async (): Promise<void> => {
    const limit = new AbortController()
    const late = wait(config.shutdownMs, 'late', { signal: limit.signal }).catch(() => 'stopped')
    if ((await Promise.race([stop(), late])) === 'late') {
      log.error({ shutdownMs: config.shutdownMs }, 'not everything could be stopped in time')
      kill()
    }
    limit.abort()
  }

  const stop = async (): Promise<void> => {
    aborted.abort()
    await stopAll()
    const late = new AbortController()
    const begun = Promise.allSettled([starting]).finally(() => late.abort())
    // What the start was in the middle of still counts as started; only a database that hangs is not waited for.
    await Promise.race([begun, wait(config.shutdownMs, undefined, { signal: late.signal, ref: false }).catch(() => {})])
    await stopAll()
  }

  const stopAll = async (): Promise<void> => {
    for (const { what, stop: stopOne } of stops.splice(0).toReversed()) {
      try {
        await stopOne()
      } catch (error) {
        log.error({ err: error, what }, 'could not be stopped in order')
      }
    }
  }

  return {
    async start() {
      try {
        return await (starting = start())
      } catch (error) {
        await (stopping ??= stopInTime())
        throw error
      }
    },
    stop: () => (stopping ??= stopInTime()),
    kill,
  }
}

const databaseEnded = (): StartError =>
  new StartError(
    'The embedded PostgreSQL has ended, though nobody stopped it here. Nothing that was committed is lost: start Stellwerk again. LOG_LEVEL=debug shows what PostgreSQL says.',
  )

/** cleanup_jobs comes as often as STELLWERK_CLEANUP_TICK_MS says. */
function withCleanupTick(catalogue: KindCatalogue, everyMs: number): KindCatalogue {
  const cleanup = catalogue.get('cleanup_jobs')!
  return new Map(catalogue).set('cleanup_jobs', { ...cleanup, schedule: { every: `PT${everyMs / 1_000}S` } })
}

function resolvedConfiguration(config: Config, port: number) {
  const { pools, api, env, pollMs, heartbeatMs, deadAfterMs, shutdownMs } = config
  return {
    version,
    port,
    env,
    api,
    pools,
    database: config.database.url === null ? 'embedded' : 'external',
    // Through a pooler go the API's reads and moves alone.
    pooler: config.database.directUrl !== null && config.database.directUrl !== config.database.url,
    pollMs,
    heartbeatMs,
    deadAfterMs,
    shutdownMs,
  }
}
