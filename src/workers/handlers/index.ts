import type { Config } from '../../config.ts'
import type { Pools } from '../../db/pool.ts'
import type { Wakeup } from '../../events/wakeup.ts'
import type { Events } from '../../jobs/event.ts'
import { bulkImport } from '../../jobs/built-in/bulk-import.ts'
import type { BuiltInKind } from '../../jobs/kinds.ts'
import type { ObjectStore } from '../../objects/object-store.ts'
import { openArchive } from '../../objects/open-archive.ts'
import type { DevMailbox } from '../dev-mailbox.ts'
import type { Handler } from '../handler.ts'
import { lateHandler } from '../late-handler.ts'
import type { Maintenance } from '../maintenance.ts'
import { createCleanupJobs } from './cleanup-jobs.ts'
import { cleanupSteps } from './cleanup-steps.ts'
import { createDocuments } from './documents/create-documents.ts'
import { createEmail } from './email/create-email.ts'
import { importSteps } from './import/import-steps.ts'
import { indexJanitor } from './indexes/index-janitor.ts'
import { createScan } from './scan/create-scan.ts'
import type { Webhooks } from './webhooks/create-webhooks.ts'
import { outboxSteps } from './webhooks/outbox-steps.ts'

export interface Handlers {
  /** One for each built-in kind; null: this process does not serve it. */
  readonly handlers: Readonly<Record<BuiltInKind, Handler | null>>
  readonly mailbox: DevMailbox | null
  /** The configured buckets of the providers, for the claim; one that asks for less has a smaller one for a while. */
  readonly providers: Config['providers']
  stop(): Promise<void>
}

interface HandlersDeps {
  readonly config: Config
  readonly pools: Pools
  /** The real path of the data directory. */
  readonly dataDir: string
  readonly events: Events
  readonly wakeup: Wakeup
  readonly maintenance: Pick<Maintenance, 'runOnce' | 'recoverLost'>
  readonly objects: ObjectStore
}

const day = 24 * 60 * 60 * 1_000

/**
 * Makes what the built-in kinds run with. A kind without an entry here does not compile. Modules that a process may never need are
 * imported in place: a worker that runs only kinds of its own would hold 40 MB of them.
 */
export async function createHandlers({
  config,
  pools,
  dataDir,
  events,
  wakeup,
  maintenance,
  objects,
}: HandlersDeps): Promise<Handlers> {
  const providers = { ...config.providers }
  const email = await createEmail({
    config,
    db: pools.commit,
    store: objects,
    dataDir,
    events,
    limits: providers,
    onPause: () => wakeup.signal('control'),
  })
  let webhooks: Webhooks | undefined
  const scan = await createScan({ config, db: pools.commit, store: objects, events })
  const { archive } = openArchive({ config, dataDir, objects })
  const documents = await createDocuments({ config, pool: pools.commit, archive, dataDir })
  const indexDeps = { url: pools.directUrl, db: pools.commit }
  return {
    handlers: {
      email_send: (email?.handler as Handler | undefined) ?? null,
      bulk_import: lateHandler(async () => {
        const { createBulkImport } = await import('./bulk-import.ts')
        const timeoutMs = config.kindOverrides['bulk_import']?.timeoutMs ?? bulkImport.defaults.timeoutMs
        return createBulkImport({ db: pools.commit, store: objects, timeoutMs }) as Handler
      }),
      outbox_dispatch: lateHandler(async () => {
        const { createWebhooks } = await import('./webhooks/create-webhooks.ts')
        webhooks = createWebhooks({ config, pool: pools.commit, wakeup, events })
        return webhooks.handler as Handler
      }),
      virus_scan: scan.handler as Handler | null,
      document_process: documents as Handler,
      reindex: lateHandler(async () => {
        const { createReindex } = await import('./reindex.ts')
        return createReindex({ db: pools.commit }) as Handler
      }),
      index_sync: lateHandler(async () => {
        const { createIndexSync } = await import('./index-sync.ts')
        return createIndexSync(indexDeps) as Handler
      }),
      gin_backfill: lateHandler(async () => {
        const { createGinBackfill } = await import('./gin-backfill.ts')
        return createGinBackfill(indexDeps) as Handler
      }),
      cleanup_jobs: createCleanupJobs([
        ...cleanupSteps({
          pool: pools.commit,
          maintenance,
          retentionMs: config.retentionDays * day,
          journalMonths: config.auditMonths,
        }),
        indexJanitor({ pool: pools.commit, wakeup }),
        ...outboxSteps({ pool: pools.commit, wakeup }),
        ...scan.steps,
        ...importSteps({ pool: pools.commit, store: objects }),
      ]),
    },
    mailbox: email?.mailbox ?? null,
    providers,
    async stop() {
      await email?.stop()
      await webhooks?.stop()
      await scan.stop()
    },
  }
}
