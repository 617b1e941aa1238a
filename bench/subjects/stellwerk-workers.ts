import { createListener } from '../../src/db/listen.ts'
import { ensurePriorityIndexes } from '../../src/db/ensure-priority-indexes.ts'
import { createPools } from '../../src/db/pool.ts'
import { createWakeup } from '../../src/events/wakeup.ts'
import { createEvents } from '../../src/jobs/event.ts'
import { builtInKinds, type BuiltInKind } from '../../src/jobs/kinds.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createEnqueuer, type Enqueuer } from '../../src/resolvers/enqueue-batcher.ts'
import type { OwnKind } from '../../src/workers/define-kind.ts'
import { createEngine } from '../../src/workers/engine.ts'
import { createInstance } from '../../src/workers/instance.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { runnableKinds } from '../../src/workers/runnable-kinds.ts'
import { kinds as drainKinds } from './stellwerk-kinds.ts'

interface Workers {
  readonly dispatch?: 'fair' | 'priority'
  readonly kinds?: readonly OwnKind[]
  /** 0: only what enqueues. */
  readonly slots?: number
  readonly onEnqueuer?: (enqueuer: Enqueuer) => void
  /** As Prometheus would. */
  readonly scrapeEveryMs?: number
}

const noBuiltIns = Object.fromEntries(Object.keys(builtInKinds).map((name) => [name, null])) as Record<
  BuiltInKind,
  null
>

/** The worker half of an instance as the service wires it, in this process: with metrics, without HTTP and log. Answers what stops it. */
export async function startWorkers(
  url: string,
  { dispatch = 'fair', kinds = drainKinds, slots = 4, onEnqueuer, scrapeEveryMs }: Workers = {},
): Promise<() => Promise<void>> {
  const events = createEvents((error) => {
    throw error
  })
  events.on((event) => {
    if (event.type === 'loop:failed' || event.type === 'lease:lost') console.error(event)
  })
  const pools = createPools(url)
  const listener = createListener({ url, onLost: console.error, onRestored: () => {} })
  const instance = createInstance({
    db: pools.commit,
    url,
    version: 'bench',
    dataDir: null,
    heartbeatMs: 5_000,
    onLost: () => engine.dropAll(),
    facts: () => ({ subscriptions: 0, abandoned: 0 }),
  })
  const wakeup = createWakeup({ instanceId: instance.id, db: pools.api, listener })
  const metrics = createMetrics({
    events,
    db: pools.api,
    subscriptions: () => 0,
    eventLagSeconds: () => null,
    eventGaps: () => 0,
    abandonedHandlers: () => 0,
  })
  const catalogue = kindCatalogue(kinds, {})
  const engine = createEngine({
    pools,
    kinds: runnableKinds(catalogue, noBuiltIns, kinds),
    catalogue,
    providers: {},
    events,
    wakeup,
    instance,
    times: { pollMs: 1_000, deadAfterMs: 30_000, abortGraceMs: 10_000, abandonMs: 60_000 },
    logLine: () => undefined,
    onProgress: () => undefined,
    onCounted: (living) => wakeup.others(living - 1),
  })
  if (dispatch === 'priority') await ensurePriorityIndexes(url)
  await registerKinds(pools.commit, catalogue)
  await instance.start()
  await wakeup.start()
  onEnqueuer?.(createEnqueuer({ pool: pools.enqueue, wakeup, startAtOnce: engine.startAtOnce }))
  if (slots > 0) await engine.start([{ name: 'default', slots, kinds: null, tenantIds: null, dispatch }])
  const scraping = scrapeEveryMs === undefined ? undefined : setInterval(() => void metrics.scrape(), scrapeEveryMs)
  return async () => {
    clearInterval(scraping)
    await engine.stop(5_000)
    await wakeup.stop()
    await listener.stop()
    await instance.stop()
    await pools.end()
  }
}
