import type { Config } from '../../../config.ts'
import type { Events } from '../../../jobs/event.ts'
import type { VirusScanPayload } from '../../../jobs/virus-scan-payload.ts'
import type { ObjectStore } from '../../../objects/object-store.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { Handler } from '../../handler.ts'
import { createObjectSweep } from '../../object-sweep.ts'
import { attachmentSteps } from '../attachment-steps.ts'
import type { CleanupStep } from '../cleanup-jobs.ts'

/** All that scans in this process, and tidies up behind uploads. */
export interface Scan {
  /** Null without CLAMD_URL: the jobs wait for an instance that has a scanner, and attachments stay locked. There is no stand-in. */
  readonly handler: Handler<VirusScanPayload> | null
  readonly steps: readonly CleanupStep[]
  stop(): Promise<void>
}

interface ScanDeps {
  readonly config: Pick<Config, 'clamdUrl' | 'maxUploadBytes'>
  readonly db: Queryable
  readonly store: ObjectStore
  readonly events: Events
}

export async function createScan({ config, db, store, events }: ScanDeps): Promise<Scan> {
  const sweep = createObjectSweep(db, store, (error) =>
    events.emit({ type: 'loop:failed', loop: 'object sweep', error }),
  )
  const handlerFor = async (clamdUrl: string): Promise<Handler<VirusScanPayload>> => {
    const [{ createVirusScan }, { createClamd }] = await Promise.all([import('../virus-scan.ts'), import('./clamd.ts')])
    return createVirusScan({
      store,
      scanner: createClamd(clamdUrl),
      maxBytes: config.maxUploadBytes,
      onLeftover: () => sweep.soon(),
    })
  }
  return {
    handler: config.clamdUrl === null ? null : await handlerFor(config.clamdUrl),
    steps: attachmentSteps(db, sweep),
    stop: () => sweep.stop(),
  }
}
