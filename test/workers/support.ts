import type { Pool, QueryConfig } from 'pg'
import { createListener } from '../../src/db/listen.ts'
import { createPools, type Pools } from '../../src/db/pool.ts'
import { createWakeup, type Wakeup } from '../../src/events/wakeup.ts'
import { createEvents, type Event, type Events } from '../../src/jobs/event.ts'
import { builtInKinds, type BuiltInKind } from '../../src/jobs/kinds.ts'
import type { RateLimit } from '../../src/jobs/rate-limit.ts'
import type { OwnKind } from '../../src/workers/define-kind.ts'
import type { PoolSpec } from '../../src/workers/dispatcher.ts'
import { createEngine, type Engine } from '../../src/workers/engine.ts'
import { createInstance, type Instance } from '../../src/workers/instance.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { runnableKinds } from '../../src/workers/runnable-kinds.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

/** The worker half of an instance, as the service wires it, without HTTP. */
export interface TestEngine {
  readonly engine: Engine
  readonly instance: Instance
  readonly pools: Pools
  readonly wakeup: Wakeup
  readonly events: Events
  /** Every event so far. */
  readonly told: Event[]
  /** Claim statements so far: how many jobs each brought. */
  readonly claims: number[]
  /** Pauses, limits and weights as they are now are in force. */
  rulesInForce(): Promise<void>
  stop(graceMs?: number): Promise<void>
}

interface Given {
  readonly slots?: number
  readonly pools?: readonly PoolSpec[]
  readonly providers?: Readonly<Record<string, RateLimit>>
  readonly pollMs?: number
  readonly abortGraceMs?: number
  readonly abandonMs?: number
}

const noBuiltIns = Object.fromEntries(Object.keys(builtInKinds).map((name) => [name, null])) as Record<
  BuiltInKind,
  null
>

export async function startEngine(
  database: TestDatabase,
  kinds: readonly OwnKind[],
  given: Given = {},
): Promise<TestEngine> {
  const events = createEvents((error) => {
    throw error
  })
  const told: Event[] = []
  events.on((event) => told.push(event))
  const pools = createPools(database.url)
  const claims: number[] = []
  const reads = watchRules(pools)
  watchQueries(pools.claim, (name, rows) => {
    if (name !== 'find_due_kinds') claims.push(rows)
  })
  const listener = createListener({ url: database.url, onLost: () => undefined, onRestored: () => undefined })
  const instance = createInstance({
    db: pools.commit,
    url: database.url,
    version: 'test',
    dataDir: null,
    heartbeatMs: 1_000,
    onLost: () => engine.dropAll(),
    facts: () => ({ subscriptions: 0, abandoned: engine.abandoned() }),
  })
  const wakeup = createWakeup({ instanceId: instance.id, db: pools.api, listener })
  const catalogue = kindCatalogue(kinds, {})
  const engine = createEngine({
    pools,
    kinds: runnableKinds(catalogue, noBuiltIns, kinds),
    catalogue,
    providers: given.providers ?? {},
    events,
    wakeup,
    instance,
    times: {
      pollMs: given.pollMs ?? 1_000,
      deadAfterMs: 30_000,
      abortGraceMs: given.abortGraceMs ?? 10_000,
      abandonMs: given.abandonMs ?? 60_000,
    },
    logLine: () => undefined,
    onProgress: () => undefined,
  })
  await registerKinds(pools.commit, catalogue)
  await instance.start()
  await wakeup.start()
  const everything: PoolSpec = {
    name: 'default',
    slots: given.slots ?? 4,
    kinds: null,
    tenantIds: null,
    dispatch: 'fair',
  }
  await engine.start(given.pools ?? [everything])
  let stopped: Promise<void> | undefined
  const end = async (graceMs: number): Promise<void> => {
    await engine.stop(graceMs)
    await wakeup.stop()
    await listener.stop()
    await instance.stop()
    await pools.end()
  }
  return {
    engine,
    instance,
    pools,
    wakeup,
    events,
    told,
    claims,
    rulesInForce: () => reads.inForce(wakeup),
    stop: (graceMs = 5_000) => (stopped ??= end(graceMs)),
  }
}

/** Watches the reads of pauses, limits and weights, which are taken over when the last of their three statements has answered. */
export function watchRules(pools: Pools): { inForce(wakeup: Wakeup): Promise<void> } {
  const answered = { read_claim_rules: 0, count_living_instances: 0, find_due_kinds: 0 }
  let begun = 0
  const hear = (name: string | undefined): void => {
    if (name !== undefined && name in answered) answered[name as keyof typeof answered] += 1
  }
  watchQueries(pools.claim, hear)
  watchQueries(pools.commit, hear, (name) => {
    if (name === 'read_claim_rules') begun += 1
  })
  return {
    async inForce(wakeup) {
      // One that is under way may not have seen what has changed; the next has.
      const underWay = begun
      wakeup.signal('control')
      await until(() => Math.min(...Object.values(answered)) > underWay, 'the rules are read anew')
    },
  }
}

/** Tells of each statement that has answered: its prepared name, and how many rows it brought; and of each that is sent. */
function watchQueries(
  pool: Pool,
  hear: (name: string | undefined, rows: number) => void,
  onSent: (name: string | undefined) => void = () => undefined,
): void {
  const query = pool.query.bind(pool) as (config: QueryConfig) => Promise<{ rows: unknown[] }>
  Object.assign(pool, {
    async query(config: QueryConfig) {
      onSent(config.name)
      const result = await query(config)
      hear(config.name, result.rows.length)
      return result
    },
  })
}
