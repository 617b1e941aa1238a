import type { Config } from '../../config.ts'
import type { Pools } from '../../db/pool.ts'
import type { Wakeup } from '../../events/wakeup.ts'
import type { Events } from '../../jobs/event.ts'
import type { BuiltInKind } from '../../jobs/kinds.ts'
import type { DevMailbox } from '../dev-mailbox.ts'
import type { Handler } from '../handler.ts'
import type { Maintenance } from '../maintenance.ts'
import { createCleanupJobs } from './cleanup-jobs.ts'
import { cleanupSteps } from './cleanup-steps.ts'
import { createEmail } from './email/create-email.ts'

export interface Handlers {
  /** One for each built-in kind; null: this process does not serve it. */
  readonly handlers: Readonly<Record<BuiltInKind, Handler | null>>
  readonly mailbox: DevMailbox | null
  stop(): Promise<void>
}

interface HandlersDeps {
  readonly config: Config
  readonly pools: Pools
  /** The real path of the data directory. */
  readonly dataDir: string
  readonly events: Events
  readonly wakeup: Wakeup
  readonly maintenance: Pick<Maintenance, 'runOnce'>
}

const day = 24 * 60 * 60 * 1_000

/** Makes what the built-in kinds run with. A kind without an entry here does not compile. */
export async function createHandlers({
  config,
  pools,
  dataDir,
  events,
  wakeup,
  maintenance,
}: HandlersDeps): Promise<Handlers> {
  const email = await createEmail({
    config,
    db: pools.commit,
    dataDir,
    events,
    onPause: () => wakeup.signal('control'),
  })
  return {
    handlers: {
      email_send: (email?.handler as Handler | undefined) ?? null,
      cleanup_jobs: createCleanupJobs([
        ...cleanupSteps({
          pool: pools.commit,
          maintenance,
          retentionMs: config.retentionDays * day,
          journalMonths: config.auditMonths,
        }),
      ]),
    },
    mailbox: email?.mailbox ?? null,
    stop: async () => email?.stop(),
  }
}
