import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { DueKinds } from '../events/wakeup.ts'
import { decide } from '../jobs/decide.ts'
import { JobAborted, LeaseLost, NeverRetry, RetryLater, Snooze } from '../jobs/errors.ts'
import { finishOf, type Completer, type Effects, type End } from './completer.ts'
import { effectRows } from './effect.ts'
import { createEnqueuedKinds } from './enqueued-kinds.ts'
import { secretsOf, type Execution } from './execution.ts'
import { jobLog, type HandlerContextDeps } from './handler-context.ts'
import type { HandlerResult, JobLog } from './handler.ts'
import { jobTransaction } from './job-transaction.ts'
import type { Run } from './run.ts'
import { tryAgain } from './try-again.ts'

interface EndingDeps {
  readonly completer: Completer
  readonly commitPool: Pool
  /** In [0, 1). */
  readonly random: () => number
  readonly logLine: HandlerContextDeps['logLine']
  /** Told after a commit in which a handler enqueued. */
  readonly onEnqueued: (kinds: DueKinds) => void
}

/** How a handler ended. */
export type Outcome = { readonly type: 'resolved' } | { readonly type: 'threw'; readonly thrown: unknown }

/** Settles a run once, which ended at `now`; whatever comes later is too late. Pending only where the slot has to wait for a transaction. */
export type Ending = (
  execution: Execution,
  outcome: Outcome,
  result: HandlerResult | undefined,
  now: number,
) => Promise<void> | undefined

const logBytes = 8 * 1024
const resultBytes = 64 * 1024

/** What follows the handler: its outcome becomes an end, and the end is settled, alone or in a group. */
export function createEnding({ completer, commitPool, random, logLine, onEnqueued }: EndingDeps): Ending {
  const fail = (execution: Execution, thrown: unknown, durationMs: number): void => {
    const { run, runnable } = execution
    run.state = 'ended'
    const decision = decide(run, thrown, runnable.kind.defaults.backoff, random(), secretsOf(execution))
    if (decision.move === 'release') {
      completer.settle({
        run,
        move: 'release',
        durationMs,
        delayMs: decision.delayMs,
        cause: decision.cause,
        unstarted: false,
      })
    } else {
      completer.settle({ run, move: 'fail', durationMs, decision, logText: keptLines(execution.lines) })
    }
  }

  /** running -> done in one transaction with what the handler writes; again on a broken connection, since the effect has already happened. */
  const commit = async (
    execution: Execution,
    write: NonNullable<HandlerResult['commit']>,
    done: End & { move: 'finish' },
  ): Promise<void> => {
    const { run } = execution
    for (let attempt = 1; ; attempt += 1) {
      try {
        const enqueued = createEnqueuedKinds()
        const settled = await inTransaction(commitPool, async (tx) => {
          const how = await completer.settleIn(tx, done)
          if (how.lost) throw new LeaseLost()
          await write(jobTransaction(tx, { onEnqueued: enqueued.add }))
          return how
        })
        run.state = 'ended'
        completer.committed(done, settled)
        const kinds = enqueued.due()
        if (kinds !== undefined) onEnqueued(kinds)
        return
      } catch (error) {
        if (hasEnded(run)) return
        if (error instanceof LeaseLost) {
          run.state = 'ended'
          // After a broken connection the first try may be what ended it.
          completer.committed(done, { lost: true }, attempt > 1)
          return
        }
        // What ends the trying is the run's own time limit.
        if (!(await tryAgain(error, attempt))) return fail(execution, error, done.durationMs)
      }
    }
  }

  const effectsOf = (
    execution: Execution,
    given: NonNullable<HandlerResult['effects']>,
    durationMs: number,
  ): Effects => ({
    rows: effectRows(given, execution.run),
    refused: (error) => fail(execution, error, durationMs),
  })

  return (execution, outcome, result, now) => {
    const { run } = execution
    if (hasEnded(run)) return undefined
    const durationMs = now - run.startedAt
    if (outcome.type === 'threw') {
      fail(execution, reasonOf(execution, outcome.thrown), durationMs)
      return undefined
    }
    const resultText = result?.result === undefined ? null : resultTextOf(result.result, jobLog(execution, logLine))
    let effects: Effects | null = null
    try {
      if (result?.effects !== undefined && result.effects.length > 0)
        effects = effectsOf(execution, result.effects, durationMs)
    } catch (error) {
      fail(execution, error, durationMs)
      return undefined
    }
    const done = finishOf(run, durationMs, resultText, effects)
    if (result?.commit !== undefined) return commit(execution, result.commit, done)
    run.state = 'ended'
    completer.settle(done)
    return undefined
  }
}

function hasEnded(run: Run): boolean {
  return run.state === 'ended'
}

/**
 * What an aborted handler throws is its way of obeying: the abort is the reason. At a shutdown that is whatever it throws, unless it says what is to
 * be done with the job: a deployment costs no attempt (SPEC section 3).
 */
function reasonOf({ aborted }: Execution, thrown: unknown): unknown {
  if (aborted === undefined) return thrown
  const obeys = aborted.reason === 'shutdown' ? !isVerdict(thrown) : isAbort(thrown)
  return obeys ? aborted : thrown
}

const isVerdict = (thrown: unknown): boolean =>
  thrown instanceof NeverRetry || thrown instanceof RetryLater || thrown instanceof Snooze

const isAbort = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  (thrown.name === 'AbortError' || thrown instanceof JobAborted || thrown.cause instanceof JobAborted)

/** The last log lines that fit, as JSON. */
function keptLines(lines: readonly string[] | undefined): string | null {
  if (lines === undefined) return null
  let bytes = 0
  const kept = lines.toReversed().filter((line) => (bytes += Buffer.byteLength(line)) <= logBytes)
  return JSON.stringify(kept.toReversed())
}

/** A result that is too large or cannot be stored is left out with a warning: the work is done all the same. */
function resultTextOf(result: unknown, log: JobLog): string | null {
  let text: string | undefined
  try {
    text = JSON.stringify(result)
  } catch (error) {
    log.warn(`The result is no JSON and is not stored: ${(error as Error).message}`)
  }
  if (text === undefined) return null
  if (Buffer.byteLength(text) > resultBytes) {
    log.warn(`The result has more than ${resultBytes} bytes of JSON and is not stored.`)
    return null
  }
  if (/\\u0000|\\ud[89a-f]/i.test(text)) {
    log.warn('The result holds a NUL or half a surrogate pair and is not stored.')
    return null
  }
  return text
}
