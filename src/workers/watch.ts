import { setTimeout as wait } from 'node:timers/promises'
import type { Queryable } from '../sql/statement.ts'
import { JobAborted } from '../jobs/errors.ts'
import { heartbeatJobs } from '../sql/heartbeat-jobs.ts'
import { readStopRequests } from '../sql/read-stop-requests.ts'
import { abortExecution, type Execution } from './execution.ts'
import type { Executor } from './executor.ts'

/** Watches over running handlers: timeouts, heartbeats, stop requests, lost claims, handlers that ignore their abort. */
export interface Watch {
  start(): void
  /** Looks for stop requests at once. */
  look(): void
  /** Waits for the handlers; aborts them after `graceMs`; gives the rest up after another `marginMs`. */
  finish(ended: Promise<void>, graceMs: number, marginMs: number): Promise<void>
  dropAll(): void
  stop(): void
}

interface WatchDeps {
  readonly pool: Queryable
  readonly running: ReadonlySet<Execution>
  readonly giveUp: Executor['giveUp']
  readonly abortGraceMs: number
  readonly abandonMs: number
  /** The slot of a handler that ignored its abort is replaced. */
  readonly onReplaced: (execution: Execution) => void
}

const tickMs = 50
const stopRequestsEveryMs = 1_000

export function createWatch({ pool, running, giveUp, abortGraceMs, abandonMs, onReplaced }: WatchDeps): Watch {
  let timer: NodeJS.Timeout | undefined
  let askedAt = 0
  let asking = false
  let beating = false

  const tick = (): void => {
    const now = performance.now()
    const beats: Execution[] = []
    for (const execution of running) {
      if (execution.abortedAt === 0) {
        const { timeoutMs, staleAfterMs } = execution.runnable.kind.defaults
        const { startedAt } = execution.run
        if (now - startedAt >= timeoutMs)
          abortExecution(execution, new JobAborted('timeout', `The handler ran longer than ${timeoutMs} ms.`))
        else if (now - Math.max(startedAt, execution.heartbeatAt) > staleAfterMs / 3) beats.push(execution)
      } else if (now - execution.abortedAt > abortGraceMs + abandonMs) onReplaced(execution)
      else if (now - execution.abortedAt > abortGraceMs && execution.run.state === 'running')
        giveUp(execution, ignored(execution))
    }
    if (beats.length > 0 && !beating) void beat(beats)
    if (running.size > 0 && now - askedAt > stopRequestsEveryMs) void askForStops()
  }

  /** Only runs that outlast a third of their time limit cost a write. */
  const beat = async (executions: readonly Execution[]): Promise<void> => {
    beating = true
    try {
      const held = await heartbeatJobs(
        pool,
        executions.map(({ run }) => run.id),
        executions.map(({ run }) => run.claim.lease),
      )
      const ids = new Set(held.map((row) => row.id))
      const now = performance.now()
      for (const execution of executions) {
        execution.heartbeatAt = now
        if (!ids.has(execution.run.id))
          abortExecution(execution, new JobAborted('lease_lost', 'The claim on this job was taken back.'))
      }
    } catch {
      // The next tick tries again: a beat that is late by a tick harms nobody, the limit is three beats long.
    } finally {
      beating = false
    }
  }

  const askForStops = async (): Promise<void> => {
    if (asking) return
    asking = true
    askedAt = performance.now()
    try {
      // A run of less than a second is over before anyone can stop it.
      const asked = [...running].filter((execution) => execution.abortedAt === 0)
      const stops = await readStopRequests(
        pool,
        asked.map(({ run }) => run.id),
      )
      const ids = new Set(stops.map((row) => row.id))
      for (const execution of asked)
        if (ids.has(execution.run.id)) abortExecution(execution, new JobAborted('stop', 'The job was asked to stop.'))
    } catch {
      // Asked again within a second.
    } finally {
      asking = false
    }
  }

  return {
    start() {
      timer = setInterval(tick, tickMs)
    },
    look() {
      if (running.size > 0) void askForStops()
    },
    async finish(ended, graceMs, marginMs) {
      if (await settlesWithin(ended, graceMs)) return
      for (const execution of running)
        abortExecution(execution, new JobAborted('shutdown', 'The service is shutting down.'))
      if (await settlesWithin(ended, marginMs)) return
      for (const execution of running)
        giveUp(execution, new JobAborted('shutdown', 'The service shut down before the handler had ended.'))
    },
    dropAll() {
      for (const execution of running) {
        const reason = new JobAborted('shutdown', 'This instance was taken for dead; others have its jobs.')
        abortExecution(execution, reason)
        giveUp(execution, reason)
      }
    },
    stop() {
      clearInterval(timer)
    },
  }
}

function ignored(execution: Execution): Error {
  return new Error(`The handler of ${execution.run.kind} ignored its abort; its claim was given up.`)
}

async function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  const limit = new AbortController()
  try {
    return await Promise.race([promise.then(() => true), wait(ms, false, { signal: limit.signal })])
  } finally {
    limit.abort()
  }
}
