import type { Pool } from 'pg'
import { databaseFault } from '../jobs/database-fault.ts'
import type { ClaimedFacts, Events } from '../jobs/event.ts'
import { kindsWithOwnSlot } from '../jobs/kinds.ts'
import type { ClaimRules, ClaimShape } from './claim-rules.ts'
import type { Completer } from './completer.ts'
import { createDispatcher, type PoolSpec } from './dispatcher.ts'
import type { Execution, RunnableKind } from './execution.ts'
import type { Executor } from './executor.ts'
import { createPrefetch } from './prefetch.ts'
import type { Run } from './run.ts'
import { createWatch } from './watch.ts'

/** Slots that claim together and run together. */
export interface WorkerPool {
  start(): void
  /** There may be due jobs: look. */
  wake(): void
  /** A stop, cancel or pause may concern what is in hand: look. */
  control(): void
  /** No new claims; unstarted ones go back at once. Resolves when every handler has ended, or after `graceMs` and an abort; then nothing is held. */
  stop(graceMs: number): Promise<void>
  /** Gives up everything in hand: the instance was taken for dead. What was not recovered yet, or claimed since, goes back through the fence. */
  dropAll(): void
  facts(): { readonly busy: number; readonly abandoned: number; readonly stuck: boolean }
}

interface WorkerPoolDeps {
  readonly spec: PoolSpec
  readonly kinds: ReadonlyMap<string, RunnableKind>
  readonly claimPool: Pool
  readonly watchPool: Pool
  readonly completer: Completer
  readonly executor: Executor
  readonly rules: ClaimRules
  readonly events: Events
  readonly worker: { readonly id: number; readonly name: string }
  readonly instanceId: () => string
  readonly afterClaim: () => void
  readonly pollMs: number
  readonly abortGraceMs: number
  readonly abandonMs: number
}

/** At most this many ends may wait for their commit before claiming pauses: the database is behind. */
const mostUnsettled = 5_000
const abortMarginMs = 2_000
const retryAfterMs = [100, 300, 1_000, 3_000]
/** Jobs that were sent back to wait for their token are promoted this soon after it: a look before them comes to nothing. */
const promotedWithinMs = 15

export function createWorkerPool(deps: WorkerPoolDeps): WorkerPool {
  const { spec, claimPool, completer, executor, rules, events, worker } = deps
  const served = [...deps.kinds.keys()].filter((kind) => (spec.kinds === null ? !kindsWithOwnSlot.includes(kind) : spec.kinds.includes(kind)))
  const dispatcher = createDispatcher({ spec, pool: claimPool, worker: worker.name, instanceId: deps.instanceId, rules })
  const prefetch = createPrefetch(spec.slots)
  const running = new Set<Execution>()
  const waiting: Run[] = []
  let replaced = 0
  let stopping = false
  let claiming = false
  let claimed: Promise<void> = Promise.resolve()
  let lookAgain = false
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  let timerFired = false
  /** Added to the moment at which a bucket refills. */
  let lateMs = 0
  const emptied = new Set<() => void>()

  const watch = createWatch({
    pool: deps.watchPool,
    running,
    giveUp: executor.giveUp,
    abortGraceMs: deps.abortGraceMs,
    abandonMs: deps.abandonMs,
    onReplaced: (execution) => {
      replaced += 1
      running.delete(execution)
      events.emit({ type: 'handler:abandoned', worker: worker.name, jobId: execution.run.id, kind: execution.run.kind })
      pump()
    },
  })

  const onFree = (execution: Execution): void => {
    if (running.delete(execution)) prefetch.ran(execution.run.kind, performance.now() - execution.run.startedAt)
    else replaced -= 1
    if (running.size === 0 && stopping) for (const resolve of emptied) resolve()
    pump()
  }

  /** Fills the free slots from what is claimed, and claims when that runs low. */
  const pump = (): void => {
    while (running.size < spec.slots && waiting.length > 0) running.add(executor.start(waiting.shift()!, onFree))
    if (!stopping && wanted() > 0) look()
  }

  const wanted = (): number => {
    if (completer.pending() > mostUnsettled) return 0
    const buffer = prefetch.size()
    const want = spec.slots - running.size + buffer - waiting.length
    // A claim costs a round trip: with a buffer it is refilled by halves, not one by one.
    return buffer > 0 && want < buffer / 2 ? 0 : Math.min(want, 1_000)
  }

  const look = (): void => {
    // The loop under way asks itself what is wanted, once its statement has answered.
    if (claiming || exhausted) return
    claiming = true
    claimed = claimLoop()
  }

  /** Whether the last look found nothing more: only a wake-up, the poll or an end of an exclusion makes another look worth while. */
  let exhausted = false

  const claimLoop = async (): Promise<void> => {
    try {
      for (let want = wanted(); want > 0 && !stopping; want = wanted()) {
        lookAgain = false
        const atTimer = timerFired
        timerFired = false
        const runs = await claimOnce(want, rules.shape(served, performance.now()))
        failures = 0
        if (atTimer) lateMs = runs.length === 0 ? promotedWithinMs : 0
        const shape = rules.shape(served, performance.now())
        // Fewer than wanted, and all of them took the last tokens of their pairs: what else is due would have come with them.
        const noMore = runs.length < want && runs.every((run) => leftOut(shape, run))
        if (noMore && !lookAgain) {
          exhausted = true
          // Timers drop fractions: one that fires early would find the bucket still empty.
          const reopensInMs = shape.reopensInMs === null ? deps.pollMs : Math.ceil(shape.reopensInMs) + 1 + lateMs
          sleep(Math.min(reopensInMs, dispatcher.retryInMs() ?? deps.pollMs, deps.pollMs))
          break
        }
      }
    } catch (error) {
      exhausted = true
      const fault = databaseFault(error)
      if (fault !== 'conflict') events.emit({ type: 'loop:failed', loop: 'claim', error: error as Error })
      sleep(retryAfterMs[Math.min(failures, retryAfterMs.length - 1)]! * (0.5 + Math.random()))
      failures += 1
    } finally {
      claiming = false
    }
  }

  const claimOnce = async (want: number, shape: ClaimShape): Promise<readonly Run[]> => {
    const over = prefetch.size() === 0 ? tenantsOverShare() : []
    let runs = await dispatcher.claim(want, shape, over)
    // What nobody else wants, the tenant over its share may have.
    if (runs.length === 0 && over.length > 0) runs = await dispatcher.claim(want, shape, [])
    if (runs.length === 0) return runs
    deps.afterClaim()
    events.emit({ type: 'jobs:claimed', worker: worker.name, jobs: runs.map(factsOf) })
    if (stopping) giveBack(runs, 'shutdown')
    else {
      waiting.push(...takeTokens(runs))
      pump()
    }
    return runs
  }

  /** Each start takes its tokens; the surplus goes back, to the moment at which its token will be there. */
  const takeTokens = (runs: readonly Run[]): Run[] => {
    const now = performance.now()
    const turnedAway = new Map<string, number>()
    return runs.filter((run) => {
      const key = `${run.kind} ${run.tenantId}`
      const before = turnedAway.get(key) ?? 0
      const token = rules.take(run.kind, run.tenantId, before, now)
      if (token.taken) return true
      turnedAway.set(key, before + 1)
      run.state = 'ended'
      completer.settle({ run, move: 'release', durationMs: 0, delayMs: token.retryAfterMs, cause: 'rate_limited', unstarted: true })
      return false
    })
  }

  /** Tenants that hold their share of the slots already: slots x weight / weights of those at work, at least one (SPEC section 4). */
  const tenantsOverShare = (): string[] => {
    const held = new Map<string, number>()
    for (const { run } of running) held.set(run.tenantId, (held.get(run.tenantId) ?? 0) + 1)
    // Whether others have due jobs is seen by claiming: the first look counts with one such tenant.
    const weights = [...held.keys()].reduce((sum, tenant) => sum + rules.weightOf(tenant), 1)
    return [...held].filter(([tenant, slots]) => slots >= Math.max(1, Math.floor((spec.slots * rules.weightOf(tenant)) / weights))).map(([tenant]) => tenant)
  }

  const giveBack = (runs: readonly Run[], cause: 'shutdown' | 'paused' | 'surplus'): void => {
    for (const run of runs) {
      run.state = 'ended'
      completer.settle({ run, move: 'release', durationMs: 0, delayMs: 0, cause, unstarted: true })
    }
  }

  const sleep = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      exhausted = false
      timerFired = true
      pump()
    }, ms)
  }

  const wake = (): void => {
    dispatcher.wake()
    exhausted = false
    lookAgain = true
    pump()
  }

  return {
    start() {
      watch.start()
      wake()
    },
    wake,
    control() {
      watch.look()
      const shape = rules.shape(served, performance.now())
      const paused = waiting.filter((run) => leftOut(shape, run))
      if (paused.length > 0) {
        const back = new Set(paused)
        waiting.splice(0, waiting.length, ...waiting.filter((run) => !back.has(run)))
        giveBack(paused, 'paused')
      }
      wake()
    },
    async stop(graceMs) {
      stopping = true
      clearTimeout(timer)
      giveBack(waiting.splice(0), 'shutdown')
      // What a claim under way still brings goes back as well.
      await claimed
      const ended = running.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => emptied.add(resolve))
      await watch.finish(ended, Math.max(graceMs - abortMarginMs, 0), Math.min(abortMarginMs, graceMs))
      await completer.idle()
      watch.stop()
    },
    dropAll() {
      giveBack(waiting.splice(0), 'shutdown')
      watch.dropAll()
      exhausted = false
    },
    facts: () => ({ busy: running.size, abandoned: replaced, stuck: replaced >= spec.slots }),
  }
}

/** Whether a claim of this shape would not bring the run's job. */
function leftOut(shape: ClaimShape, run: Run): boolean {
  const { kinds, excludedTenants, excludedPairs } = shape
  return !kinds.includes(run.kind) || run.tenantId in excludedTenants || `${run.kind} ${run.tenantId}` in excludedPairs
}

function factsOf(run: Run): ClaimedFacts {
  return {
    id: run.id,
    kind: run.kind,
    tenantId: run.tenantId,
    attempts: run.attempts,
    latencyMs: Math.max(run.claimedMs - run.createdMs, 0),
    waitMs: Math.max(run.claimedMs - run.availableMs, 0),
  }
}
