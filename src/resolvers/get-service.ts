import { readClock } from '../sql/read-clock.ts'
import { authorize, type RequestContext } from './context.ts'
import { readWarnings } from './read-warnings.ts'

/** The service as the process that answers sees it. */
export interface ServiceView {
  readonly version: string
  readonly bus: 'POSTGRES' | 'REDIS'
  /** How much longer ago than its poll the journal was last read. */
  readonly streamLagSeconds: number
  /** One round trip, in seconds. */
  readonly databaseLatencySeconds: () => Promise<number>
  /** Empty for callers without OPERATE_PLATFORM. */
  readonly warnings: () => Promise<string[]>
}

export function getService(context: RequestContext): ServiceView {
  const caller = authorize(context, [['READ_JOBS']])
  const { deps } = context
  return {
    version: deps.version,
    bus: deps.wakeup.driver,
    streamLagSeconds: deps.relay.lagSeconds(),
    async databaseLatencySeconds() {
      const startedAt = performance.now()
      await readClock(deps.pools.api)
      return (performance.now() - startedAt) / 1_000
    },
    warnings: async () => (caller.scopes.has('OPERATE_PLATFORM') ? readWarnings(context) : []),
  }
}
