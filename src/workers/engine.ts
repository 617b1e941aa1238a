import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Config } from '../config.ts'
import type { Pools } from '../db/pool.ts'
import type { ProgressHint } from '../events/progress-hint.ts'
import type { Wakeup } from '../events/wakeup.ts'
import type { Event, Events } from '../jobs/event.ts'
import type { JobKind } from '../jobs/kind.ts'
import { kindsWithOwnSlot, ownSlots } from '../jobs/kinds.ts'
import { countLivingInstances } from '../sql/count-living-instances.ts'
import { findDueKinds } from '../sql/find-due-kinds.ts'
import { readClaimRules } from '../sql/read-claim-rules.ts'
import type { StartAtOnce } from '../sql/enqueue-claimed.ts'
import { finishJobs } from '../sql/finish-jobs.ts'
import { registerWorker } from '../sql/register-worker.ts'
import { createClaimRules, type ClaimRules } from './claim-rules.ts'
import { createCompleterLanes } from './completer-lanes.ts'
import { createCompleter, type Completer } from './completer.ts'
import type { PoolSpec } from './dispatcher.ts'
import { createEnding } from './ending.ts'
import type { RunnableKind } from './execution.ts'
import { createExecutor } from './executor.ts'
import { createFollowedLane } from './followed-lane.ts'
import { createHandlerContexts } from './handler-context.ts'
import type { Instance } from './instance.ts'
import { createKindRooms } from './kind-rooms.ts'
import { createLoop } from './loop.ts'
import { createPromoter } from './promoter.ts'
import { createPulses, type Pulses } from './pulses.ts'
import type { Run } from './run.ts'
import { createScheduler } from './scheduler.ts'
import { createWorkerPool, type WorkerPool } from './worker-pool.ts'

/** The worker half of an instance: its pools, the promoter, and what bears on claiming. */
export interface Engine {
  start(specs: readonly PoolSpec[]): Promise<void>
  /** For enqueues in this process. */
  readonly startAtOnce: StartAtOnce
  /** Claims no more; what does not end within `graceMs` goes back to pending, attempts untouched. */
  stop(graceMs: number): Promise<void>
  /** The instance was given up for dead: drops its work, which others may have by now, and goes on. */
  dropAll(): void
  abandoned(): number
  /** Sentences that say why these workers are not fit. */
  unfit(): string[]
}

interface EngineDeps {
  readonly pools: Pools
  readonly kinds: ReadonlyMap<string, RunnableKind>
  readonly catalogue: ReadonlyMap<string, JobKind>
  readonly providers: Config['providers']
  readonly events: Events
  /** Where the loops show that they get on. */
  readonly pulses?: Pulses
  readonly wakeup: Wakeup
  readonly instance: Instance
  readonly times: Pick<Config, 'pollMs' | 'deadAfterMs' | 'abortGraceMs' | 'abandonMs'>
  readonly logLine: (run: Run, level: 'info' | 'warn', message: string) => void
  readonly onProgress: (hint: ProgressHint) => void
  /** Told how many instances live, this one with them, whenever they are counted. */
  readonly onCounted?: (living: number) => void
}

/** Limits and pauses are read on a control signal, and this often in case one was lost. */
const readRulesEveryMs = 10_000

export function createEngine(deps: EngineDeps): Engine {
  const { pools, kinds, events, pulses = createPulses(Infinity), wakeup, instance, times } = deps
  const rules = createClaimRules({ kinds: deps.catalogue, providers: deps.providers })
  const rooms = createKindRooms(kinds)
  let specs: readonly PoolSpec[] = []
  const workers: WorkerPool[] = []
  const names: string[] = []
  const leave: (() => void)[] = []
  let stopListening = (): void => undefined

  const scheduler = createScheduler({
    pool: pools.commit,
    events,
    pulses,
    kinds: [...kinds.values()].map(({ kind }) => kind),
    onEnqueued: () => wakeup.signal('work'),
  })
  const promoter = createPromoter({
    pool: pools.commit,
    events,
    pulses,
    pollMs: times.pollMs,
    onPromoted: () => wakeup.signal('work'),
  })

  /** Monotonic milliseconds at which a job of the kind was claimed last. */
  const claimedAt = new Map<string, number>()

  const readRules = async (): Promise<void> => {
    // What was claimed of late is due as a rule, and what was claimed lies in front of what is left: to walk over 300,000 of them took half a second.
    const since = performance.now() - readRulesEveryMs
    const known = [...claimedAt].flatMap(([kind, at]) => (at > since ? [kind] : []))
    const [[row], [living], due] = await Promise.all([
      readClaimRules(pools.commit),
      countLivingInstances(pools.commit, times.deadAfterMs),
      // On the session that never scans the table.
      findDueKinds(pools.claim, known),
    ])
    deps.onCounted?.(living!.count)
    rules.update(row!.rules, living!.count, [...known, ...due.map(({ kind }) => kind)])
    for (const worker of workers) worker.control()
  }
  // One read after the other: of two at once the older could answer last, and a pause be forgotten until the next.
  const rulesLoop = createLoop({
    name: 'rules',
    events,
    pulse: pulses.of('reader of limits and pauses'),
    retryAfterMs: times.pollMs,
    async turn() {
      await readRules()
      return readRulesEveryMs
    },
  })

  /** Opens the session of the ends and plans their statement, some 65 ms, before a job waits for it. Who cannot be reached now is met again then. */
  const warmUp = async (): Promise<void> => {
    await finishJobs(pools.settle, [], [], 0, []).catch(() => undefined)
  }

  const register = async (spec: PoolSpec, name: string): Promise<{ id: number; name: string }> => {
    // By name, also where the pool is not limited: whoever asks why a job waits cannot know which handlers this process has.
    const served = [...kinds.keys()].filter((kind) =>
      spec.kinds === null ? !kindsWithOwnSlot.includes(kind) : spec.kinds.includes(kind),
    )
    const [row] = await registerWorker(
      pools.commit,
      instance.id,
      name,
      spec.name,
      spec.slots,
      served,
      spec.tenantIds,
      spec.dispatch,
    )
    return { id: row!.id, name }
  }

  const openPool = async (spec: PoolSpec): Promise<WorkerPool> => {
    const worker = await register(spec, `${instance.host}/${process.pid}/${randomUUID()}`)
    names.push(worker.name)
    const afterCommit = ({ waiting, dueAgain }: { waiting: boolean; dueAgain: boolean }): void => {
      wakeup.signal('journal')
      if (waiting) promoter.wake()
      // Another instance may have room for what this one gives back.
      if (dueAgain) wakeup.signal('work')
    }
    const lane = (pool: Pool, name: string): Completer =>
      createCompleter({ pool, events, pulse: pulses.of(`${name} of the pool ${spec.name}`), worker, afterCommit })
    const plain = lane(pools.settle, 'completer')
    const completer = createCompleterLanes({
      plain,
      withEffects: lane(pools.commit, 'completer of ends with effects'),
      followed: createFollowedLane({ pool: pools.commit, kinds, plain, events }),
    })
    const executor = createExecutor({
      kinds,
      contextOf: createHandlerContexts({
        commitPool: pools.commit,
        logLine: deps.logLine,
        onProgress: deps.onProgress,
        onEnqueued: (enqueued) => wakeup.signal('work', enqueued),
      }),
      end: createEnding({
        completer,
        commitPool: pools.commit,
        random: Math.random,
        logLine: deps.logLine,
        onEnqueued: (enqueued) => wakeup.signal('work', enqueued),
      }),
    })
    return createWorkerPool({
      spec,
      kinds,
      claimPool: pools.claim,
      watchPool: pools.commit,
      completer,
      executor,
      rules,
      rooms,
      events,
      pulse: pulses.of(`claim loop of the pool ${spec.name}`),
      worker,
      instanceId: instance.id,
      afterClaim: () => wakeup.signal('journal'),
      pollMs: times.pollMs,
      abortGraceMs: times.abortGraceMs,
      abandonMs: times.abandonMs,
    })
  }

  return {
    async start(poolSpecs) {
      specs = poolSpecs
      const own = kindsWithOwnSlot.filter((kind) => kinds.has(kind))
      if (specs.length > 0 && own.length > 0)
        specs = [...specs, { name: 'maintenance', slots: ownSlots(own), kinds: own, tenantIds: null, dispatch: 'fair' }]
      const warm = specs.length > 0 ? warmUp() : undefined
      for (const spec of specs) workers.push(await openPool(spec))
      await warm
      leave.push(wakeup.on('control', rulesLoop.ring))
      // Never without them: what is paused would be claimed.
      await readRules()
      leave.push(
        wakeup.on('work', (dueKinds) => {
          for (const worker of workers) worker.wake(dueKinds)
          // Where the kinds are told, none of their jobs waits for its time.
          if (dueKinds === null) promoter.wake()
        }),
      )
      stopListening = events.on((event) => {
        if (event.type === 'jobs:claimed') {
          const now = performance.now()
          for (const { kind } of event.jobs) claimedAt.set(kind, now)
        }
        if (rules.hasCaps() && makesRoom(event, rules)) wakeup.signal('work')
      })
      rulesLoop.start(readRulesEveryMs)
      if (workers.length > 0) {
        promoter.start()
        scheduler.start()
      }
      for (const worker of workers) worker.start()
    },
    async stop(graceMs) {
      for (const off of leave.splice(0)) off()
      await Promise.all([
        rulesLoop.stop(),
        scheduler.stop(),
        promoter.stop(),
        ...workers.map((worker) => worker.stop(graceMs)),
      ])
      // After the last ends: they make room for other instances, and what they left waiting is known to no other.
      stopListening()
      if (workers.length > 0) wakeup.signal('work')
    },
    startAtOnce(job, enqueue) {
      for (const worker of workers) {
        const answer = worker.startAtOnce(job, enqueue)
        if (answer !== null) return answer
      }
      return null
    },
    dropAll() {
      for (const worker of workers) worker.dropAll()
      // The pools' rows outlived the instance's; they belong to it again.
      Promise.all(names.map((name, index) => register(specs[index]!, name))).catch((error: Error) =>
        events.emit({ type: 'loop:failed', loop: 'register', error }),
      )
    },
    abandoned: () => workers.reduce((sum, worker) => sum + worker.facts().abandoned, 0),
    unfit: () =>
      specs
        .filter((_, index) => workers[index]?.facts().stuck)
        .map(
          (spec) =>
            `Every slot of the pool ${spec.name} holds a handler that ignores its abort. Restart the instance, and mend the handler.`,
        ),
  }
}

/** A job under a cap has ended: who waits for its room, here or in another instance, may look. */
function makesRoom(event: Event, rules: ClaimRules): boolean {
  if (event.type === 'jobs:ended') return event.ends.some(({ run }) => rules.underCap(run.kind, run.tenantId))
  return event.type === 'jobs:recovered' && event.jobs.some(({ kind, tenantId }) => rules.underCap(kind, tenantId))
}
