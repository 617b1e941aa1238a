import type { Pool } from 'pg'
import type { DueKinds } from '../events/wakeup.ts'
import type { Events, ReleaseCause } from '../jobs/event.ts'
import { tenantsOverShare } from '../jobs/fairness.ts'
import { DatabaseUnavailable } from '../jobs/errors.ts'
import { kindsWithOwnSlot } from '../jobs/kinds.ts'
import { pairKey } from '../jobs/pair-key.ts'
import type { StartAtOnce } from '../sql/enqueue-claimed.ts'
import { createClaimLoop } from './claim-loop.ts'
import { leavesOut, type ClaimRules, type ClaimShape } from './claim-rules.ts'
import type { Completer } from './completer.ts'
import { drawLease } from './draw-lease.ts'
import { createDispatcher, type Dispatcher, type PoolSpec } from './dispatcher.ts'
import type { Execution, RunnableKind } from './execution.ts'
import type { Executor } from './executor.ts'
import type { KindRooms } from './kind-rooms.ts'
import { createPrefetch } from './prefetch.ts'
import type { Pulse } from './pulses.ts'
import { createRoomDispatcher } from './room-dispatcher.ts'
import { runsOf, type Run } from './run.ts'
import { createUnheardClaims } from './unheard-claims.ts'
import { createWatch } from './watch.ts'

/** Slots that claim together and run together. */
export interface WorkerPool {
  start(): void
  /** There may be due jobs, of the kinds that are told: look. */
  wake(dueKinds: DueKinds): void
  /** A job that is just being enqueued need not be claimed by a statement of its own. */
  readonly startAtOnce: StartAtOnce
  /** A stop, cancel or pause may concern what is in hand: look. */
  control(): void
  /** No new claims; unstarted ones go back at once. Resolves when every handler has ended, or after `graceMs` and an abort; then nothing is held. */
  stop(graceMs: number): Promise<void>
  /** Gives up everything in hand: the instance was taken for dead. What was not recovered yet, or claimed since, goes back through the fence. */
  dropAll(): void
  facts(): { readonly abandoned: number; readonly stuck: boolean }
}

interface WorkerPoolDeps {
  readonly spec: PoolSpec
  readonly kinds: ReadonlyMap<string, RunnableKind>
  readonly claimPool: Pool
  readonly watchPool: Pool
  readonly completer: Completer
  readonly executor: Executor
  readonly rules: ClaimRules
  readonly rooms: KindRooms
  readonly events: Events
  readonly pulse: Pulse
  readonly worker: { readonly id: number; readonly name: string }
  readonly instanceId: string
  readonly afterClaim: () => void
  readonly pollMs: number
  readonly abortGraceMs: number
  readonly abandonMs: number
}

/** At most this many ends may wait for their commit before claiming pauses: the database is behind. */
const mostUnsettled = 5_000
/** Half of what the buffer holds. A claim comes to each tenant, 25 us of the server: with 100 of them, claims of 1,000 cost 3 us a job more. */
const largestClaim = 2_000
const abortMarginMs = 2_000
/** Claimed jobs that would wait for longer than this, as fast as others start, go back: the handlers have become slow, and others may be free. */
const longestWaitMs = 250
/** An enqueue without an answer may still commit while the disk or the server stands still. */
const soughtForMs = 60_000

export function createWorkerPool(deps: WorkerPoolDeps): WorkerPool {
  const { spec, claimPool, completer, executor, rules, rooms, events, worker } = deps
  const served = [...deps.kinds.keys()].filter((kind) =>
    spec.kinds === null ? !kindsWithOwnSlot.includes(kind) : spec.kinds.includes(kind),
  )
  const unheard = createUnheardClaims(claimPool)
  const newDispatcher = (): Dispatcher =>
    createDispatcher({
      spec,
      pool: claimPool,
      worker: worker.name,
      instanceId: deps.instanceId,
      rules,
      unheard,
      receive: (runs) => receive(runs),
    })
  const dispatcher = served.some(rooms.has)
    ? createRoomDispatcher({ rooms, free: newDispatcher(), roomed: newDispatcher() })
    : newDispatcher()
  const prefetch = createPrefetch(spec.slots, rules)
  const running = new Set<Execution>()
  /** The next to start stands last: taken from the front, each had the others moved up, 0.4 us a job. */
  const waiting: Run[] = []
  /** Jobs that are just being enqueued for a slot of this pool. */
  const starting = new Set<Promise<void>>()
  /** Since the last look at those that wait. */
  let startedSince = 0
  let receivedSince = false
  let minding: NodeJS.Timeout | undefined
  let roomAgain: Promise<void> | undefined
  let replaced = 0
  let stopping = false
  /** Told when nothing runs any more. */
  let emptied: (() => void) | undefined

  const watch = createWatch({
    pool: deps.watchPool,
    running,
    giveUp: executor.giveUp,
    abortGraceMs: deps.abortGraceMs,
    abandonMs: deps.abandonMs,
    onReplaced: (execution) => {
      replaced += 1
      running.delete(execution)
      tellIfEmpty()
      events.emit({ type: 'handler:abandoned', worker: worker.name, jobId: execution.run.id, kind: execution.run.kind })
      pump()
    },
  })

  const shape = (): ClaimShape => rules.shape(served, performance.now())

  const wanted = (): number => {
    if (completer.pending() > mostUnsettled) {
      // Nothing else may bring the next look: all that was claimed has run.
      roomAgain ??= completer.below(mostUnsettled).then(() => {
        roomAgain = undefined
        pump()
      })
      return 0
    }
    const buffer = prefetch.size(performance.now())
    const want = spec.slots - running.size - starting.size + buffer - waiting.length
    // A claim costs a round trip: with a buffer it is refilled by halves, not one by one.
    return buffer > 0 && want < buffer / 2 ? 0 : Math.min(want, largestClaim)
  }

  let tookAll = false
  let leftSome = false
  const claim = async (want: number, now: ClaimShape): Promise<readonly Run[]> => {
    tookAll = false
    leftSome = false
    const found = await unheard.find()
    if (found.length > 0) {
      receive(found)
      return found
    }
    // The order of priority knows of no shares.
    const over =
      spec.dispatch === 'fair' && prefetch.size(performance.now()) === 0
        ? tenantsOverShare(tenantsAtWork(), spec.slots, rules.weightOf)
        : []
    let runs = await dispatcher.claim(want, now, over)
    // What nobody else wants, the tenant over its share may have.
    tookAll = runs.length === 0 || over.length === 0
    if (runs.length === 0 && over.length > 0 && !dispatcher.isHeldUp()) runs = await dispatcher.claim(want, now, [])
    tookAll &&= dispatcher.tookAll()
    leftSome = runs.length > 0 && (over.length > 0 || dispatcher.wasCut())
    return runs
  }

  const receive = (runs: readonly Run[]): void => {
    receivedSince = true
    for (const run of runs) rooms.taken(run.kind)
    deps.afterClaim()
    events.emit({ type: 'jobs:claimed', worker: worker.name, jobs: runs })
    if (stopping) giveBack(runs, 'shutdown')
    else {
      waiting.unshift(...takeTokens(runs).toReversed())
      // Behind a full claim the next one leaves first: so many jobs that do nothing keep the thread for 8 ms, of the 50 that a claim takes.
      if (runs.length < largestClaim) pump()
      else setImmediate(() => pump())
    }
  }

  const loop = createClaimLoop({
    wanted,
    shape,
    claim,
    tookAll: () => tookAll,
    isHeldUp: dispatcher.isHeldUp,
    retryInMs: dispatcher.retryInMs,
    leftSome: () => leftSome,
    reopened: () => dispatcher.wake(null),
    events,
    pulse: deps.pulse,
    pollMs: deps.pollMs,
  })

  /** Fills the free slots from what is claimed, and claims when that runs low. */
  const pump = (now = performance.now()): void => {
    while (running.size < spec.slots && waiting.length > 0) {
      running.add(executor.start(waiting.pop()!, now, onFree))
      startedSince += 1
    }
    loop.look()
  }

  /** What was claimed in the belief that it would start at once, and will not. */
  const mindWaiting = (): void => {
    const [started, isFresh] = [startedSince, receivedSince]
    startedSince = 0
    receivedSince = false
    if (isFresh || waiting.length <= started) return
    prefetch.forget()
    giveBack(waiting.splice(0, waiting.length - started), 'surplus')
  }

  const tellIfEmpty = (): void => {
    if (running.size === 0) emptied?.()
  }

  const onFree = (execution: Execution, now: number): void => {
    if (running.delete(execution)) prefetch.ran(execution.run.kind, execution.run.startedAt, now)
    else replaced -= 1
    tellIfEmpty()
    rooms.freed(execution.run.kind)
    pump(now)
  }

  /** What a claim would bring now and nothing else before it: no limit is to be asked, nobody waits for the slot. */
  const startsAtOnce = (job: { readonly kind: string; readonly tenantId: string }): boolean =>
    !stopping &&
    loop.isAtRest() &&
    running.size + starting.size + waiting.length < spec.slots &&
    completer.pending() <= mostUnsettled &&
    served.includes(job.kind) &&
    (spec.tenantIds === null || spec.tenantIds.includes(job.tenantId)) &&
    !rooms.has(job.kind) &&
    !rules.limits(job.kind) &&
    !rules.underCap(job.kind, job.tenantId) &&
    !leavesOut(shape(), job)

  const startAtOnce: StartAtOnce = (job, enqueue) => {
    if (!startsAtOnce(job)) return null
    const lease = drawLease()
    const answer = enqueue({ worker: worker.name, instanceId: deps.instanceId, lease })
    const start = answer.then(
      (rows) => {
        starting.delete(start)
        if (rows.length > 0) receive(runsOf(rows, lease))
        else wake(new Set([job.kind]))
      },
      (error: unknown) => {
        starting.delete(start)
        if (error instanceof DatabaseUnavailable && error.outcomeUnknown) unheard.seek(lease, soughtForMs)
        wake(null)
      },
    )
    starting.add(start)
    return answer
  }

  const tenantsAtWork = function* (): Generator<string> {
    for (const { run } of running) yield run.tenantId
  }

  /** Each start takes its tokens; the surplus goes back, to the moment at which its token will be there. */
  const takeTokens = (runs: readonly Run[]): Run[] => {
    const now = performance.now()
    const turnedAway = new Map<string, number>()
    return runs.filter((run) => {
      if (!rules.limits(run.kind)) return true
      const key = pairKey(run.kind, run.tenantId)
      const before = turnedAway.get(key) ?? 0
      const token = rules.take(run.kind, run.tenantId, before, now)
      if (token.taken) return true
      turnedAway.set(key, before + 1)
      release(run, 'rate_limited', token.retryAfterMs)
      return false
    })
  }

  const giveBack = (runs: readonly Run[], cause: 'shutdown' | 'paused' | 'surplus'): void => {
    for (const run of runs) release(run, cause, 0)
  }

  /** A claim that goes back unstarted: attempts untouched. */
  const release = (run: Run, cause: ReleaseCause, delayMs: number): void => {
    run.state = 'ended'
    rooms.freed(run.kind)
    completer.settle({ run, move: 'release', durationMs: 0, delayMs, cause, unstarted: true })
  }

  const wake: WorkerPool['wake'] = (dueKinds) => {
    if (dueKinds !== null && !served.some((kind) => dueKinds.has(kind))) return
    dispatcher.wake(dueKinds)
    loop.wake()
  }

  rooms.onRoom(() => wake(null))

  return {
    start() {
      watch.start()
      minding = setInterval(mindWaiting, longestWaitMs)
      wake(null)
    },
    wake,
    startAtOnce,
    control() {
      watch.look()
      const now = shape()
      giveBack(
        takeOut(waiting, (run) => leavesOut(now, run)),
        'paused',
      )
      wake(null)
    },
    async stop(graceMs) {
      stopping = true
      clearInterval(minding)
      giveBack(waiting.splice(0), 'shutdown')
      // What a claim under way still brings goes back as well.
      await Promise.all([loop.stop(), ...starting])
      const ended = running.size === 0 ? Promise.resolve() : new Promise<void>((resolve) => (emptied = resolve))
      await watch.finish(ended, Math.max(graceMs - abortMarginMs, 0), Math.min(abortMarginMs, graceMs))
      await completer.idle()
      watch.stop()
    },
    dropAll() {
      giveBack(waiting.splice(0), 'shutdown')
      watch.dropAll()
      loop.wake()
    },
    facts: () => ({ abandoned: replaced, stuck: replaced >= spec.slots }),
  }
}

/** Takes out of a list what is meant; the rest keeps its order. */
function takeOut<Item>(list: Item[], isMeant: (item: Item) => boolean): Item[] {
  const { out = [], kept = [] } = Object.groupBy(list, (item) => (isMeant(item) ? 'out' : 'kept'))
  if (out.length > 0) list.splice(0, list.length, ...kept)
  return out
}
