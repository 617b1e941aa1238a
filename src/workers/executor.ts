import type { Pool } from 'pg'
import { setTimeout as wait } from 'node:timers/promises'
import { databaseFault } from '../db/database-fault.ts'
import { inTransaction } from '../db/transaction.ts'
import { checkPayload } from '../jobs/check-payload.ts'
import { decide, type Outcome } from '../jobs/decide.ts'
import { JobAborted, LeaseLost, NeverRetry } from '../jobs/errors.ts'
import { cutBytes, redactSecrets } from '../jobs/failure.ts'
import type { JobKind } from '../jobs/kinds.ts'
import type { Completer, End } from './completer.ts'
import type { Handler, HandlerContext, HandlerResult, JobFacts, JobLog, JobTransaction } from './handler.ts'
import { jobTransaction } from './job-transaction.ts'
import { createProgressWriter, type ProgressWriter } from './progress-writer.ts'
import type { Run } from './run.ts'

/** A kind as this process can run it. */
export interface RunnableKind {
  readonly kind: JobKind
  readonly handler: Handler
  /** In the transaction of the move that ends the job for good (PROMISES, `onFailure`). */
  readonly onFailure?: (tx: JobTransaction, job: JobFacts, outcome: { move: 'dlq' | 'stop' | 'cancel'; error: string | null }) => Promise<void>
}

/** A handler at work. */
export interface Execution {
  readonly run: Run
  readonly kind: JobKind
  readonly deadline: number
  heartbeatAt: number
  /** Monotonic time at which an abort was signalled; 0: not aborted. */
  abortedAt: number
  abort(reason: JobAborted): void
  /** Ends the run without its handler: what the handler still does changes nothing. */
  giveUp(outcome: Outcome): void
}

export interface Executor {
  /** Starts a run; `onSettled` is told once its handler's promise has settled and the slot is free. */
  start(run: Run, onFree: (execution: Execution) => void): Execution
}

interface ExecutorDeps {
  readonly kinds: ReadonlyMap<string, RunnableKind>
  readonly completer: Completer
  readonly commitPool: Pool
  readonly random: () => number
  readonly logLine: (run: Run, level: 'info' | 'warn', message: string) => void
  /** Told when a report was written to the job's row. */
  readonly onProgress: (jobId: string) => void
  /** Told after a commit in which a handler enqueued. */
  readonly onEnqueued: () => void
}

const logLines = 100
const logBytes = 8 * 1024
const resultBytes = 64 * 1024
const conflictTries = 6

/** Runs one job: run the handler, decide, settle. */
export function createExecutor(deps: ExecutorDeps): Executor {
  const { kinds, completer, commitPool, random } = deps

  const begin = (run: Run, onFree: (execution: Execution) => void): Execution => {
    const runnable = kinds.get(run.kind)!
    const now = performance.now()
    run.startedAt = now
    run.state = 'running'
    let controller: AbortController | undefined
    let aborted: JobAborted | undefined
    let lines: string[] | undefined
    let progress: ProgressWriter | undefined

    const execution: Execution = {
      run,
      kind: runnable.kind,
      deadline: now + runnable.kind.defaults.timeoutMs,
      heartbeatAt: now,
      abortedAt: 0,
      abort(reason) {
        if (aborted !== undefined) return
        aborted = reason
        execution.abortedAt = performance.now()
        controller?.abort(reason)
      },
      giveUp(outcome) {
        void end(outcome, undefined)
      },
    }

    const context: HandlerContext<unknown> = {
      // Parsed and checked when the handler first touches it: a drain of 40,000 jobs a second pays only for what is read.
      get payload() {
        const value = readPayload(runnable.kind, run.payloadText)
        Object.defineProperty(context, 'payload', { value })
        return value
      },
      get job() {
        const value = factsOf(run)
        Object.defineProperty(context, 'job', { value })
        return value
      },
      get signal() {
        controller ??= new AbortController()
        if (aborted !== undefined && !controller.signal.aborted) controller.abort(aborted)
        return controller.signal
      },
      progress(report) {
        progress ??= createProgressWriter({
          pool: commitPool,
          run,
          onSaved: () => {
            execution.heartbeatAt = performance.now()
            deps.onProgress(run.id)
          },
          onLost: () => execution.abort(new JobAborted('lease_lost', 'The claim on this job was taken back.')),
          onStop: () => execution.abort(new JobAborted('stop', 'The job was asked to stop.')),
        })
        return progress.report(report)
      },
      get log() {
        const value = createJobLog((level, message) => {
          lines ??= []
          lines.push(`${level}: ${message}`)
          if (lines.length > logLines) lines.shift()
          deps.logLine(run, level, message)
        })
        Object.defineProperty(context, 'log', { value })
        return value
      },
    }

    /** Settles the run once; whatever comes later is too late. */
    const end = (outcome: Outcome, result: HandlerResult | undefined): Promise<void> | void => {
      if (run.state === 'ended') return
      const durationMs = performance.now() - run.startedAt
      if (outcome.type === 'resolved' && result?.commit !== undefined) return commit(result.commit, resultTextOf(result, context.log), durationMs)
      run.state = 'ended'
      if (outcome.type === 'resolved') {
        completer.settle({ run, move: 'finish', durationMs, resultText: result === undefined ? null : resultTextOf(result, context.log) })
        return
      }
      // What an aborted handler throws is its way of obeying: the abort is the reason.
      const thrown = aborted !== undefined && outcome.thrown !== aborted && isAbort(outcome.thrown) ? aborted : outcome.thrown
      return settleFailure(thrown, durationMs)
    }

    const settleFailure = (thrown: unknown, durationMs: number): Promise<void> | void => {
      run.state = 'ended'
      const decision = decide(run, { type: 'threw', thrown }, runnable.kind.defaults.backoff, random())
      if (decision.move === 'release') {
        completer.settle({ run, move: 'release', durationMs, delayMs: decision.delayMs, cause: decision.cause, unstarted: false })
        return
      }
      if (decision.move === 'finish') return
      const logText = lines === undefined ? null : JSON.stringify(boundedLines(lines))
      const failed: End = { run, move: 'fail', durationMs, decision, logText }
      if (runnable.onFailure === undefined) completer.settle(failed)
      else return failWithFollowUp(failed, runnable.onFailure)
    }

    /** The failure and the kind's own follow-up in one transaction; if the follow-up fails, the failure is recorded alone. */
    const failWithFollowUp = async (failed: End & { move: 'fail' }, onFailure: NonNullable<RunnableKind['onFailure']>): Promise<void> => {
      try {
        const settled = await inTransaction(commitPool, async (tx) => {
          const how = await completer.settleIn(tx, failed)
          if (!how.lost && (how.outcome === 'dlq' || how.outcome === 'stopped')) {
            const move = how.outcome === 'dlq' ? 'dlq' : 'stop'
            await onFailure(jobTransaction(tx), factsOf(run), { move, error: failed.decision.failure.error })
          }
          return how
        })
        completer.committed(failed, settled)
      } catch (error) {
        deps.logLine(run, 'warn', redactSecrets(`onFailure failed: ${(error as Error).message}`))
        completer.settle(failed)
      }
    }

    /** running -> done in one transaction with what the handler writes; again on a broken connection, since the effect has already happened. */
    const commit = async (write: NonNullable<HandlerResult['commit']>, resultText: string | null, durationMs: number): Promise<void> => {
      const done: End = { run, move: 'finish', durationMs, resultText }
      for (let attempt = 1; ; attempt += 1) {
        try {
          let enqueued = false
          const settled = await inTransaction(commitPool, async (tx) => {
            const how = await completer.settleIn(tx, done)
            if (how.lost) throw new LeaseLost()
            await write(jobTransaction(tx, () => (enqueued = true)))
            return how
          })
          run.state = 'ended'
          completer.committed(done, settled)
          if (enqueued) deps.onEnqueued()
          return
        } catch (error) {
          if (run.state === ('ended' as Run['state'])) return
          if (error instanceof LeaseLost) {
            run.state = 'ended'
            completer.committed(done, { lost: true })
            return
          }
          const fault = databaseFault(error)
          // A database that is away is no failure of the handler (FAULTS F12): what ends the trying is its end, or the run's own time limit.
          if (fault !== 'unavailable' && (fault !== 'conflict' || attempt >= conflictTries)) return settleFailure(error, durationMs)
          await wait(Math.min(100 * 2 ** Math.min(attempt - 1, 10), 3_000) * (0.5 + Math.random()))
        }
      }
    }

    void (async () => {
      let outcome: Outcome
      let result: HandlerResult | undefined
      try {
        result = (await runnable.handler(context)) ?? undefined
        outcome = { type: 'resolved' }
      } catch (thrown) {
        outcome = { type: 'threw', thrown }
      }
      if (progress !== undefined) await progress.finish()
      const ending = end(outcome, result)
      if (ending !== undefined) await ending
      onFree(execution)
    })()
    return execution
  }

  return { start: begin }
}

function readPayload(kind: JobKind, text: string): unknown {
  const checked = checkPayload(kind.payload, JSON.parse(text))
  if (checked.ok) return checked.payload
  const [problem] = checked.problems
  throw new NeverRetry(new PayloadInvalid(`payload${problem!.pointer}: ${problem!.message}`))
}

/** The stored payload breaks the kind's schema: SQL callers are checked here. */
class PayloadInvalid extends Error {
  override readonly name = 'PayloadInvalid'
}

function factsOf(run: Run): JobFacts {
  return {
    id: run.id,
    tenantId: run.tenantId,
    kind: run.kind,
    attempts: run.attempts,
    maxAttempts: run.maxAttempts,
    priority: run.priority,
    createdAt: new Date(run.createdMs),
    availableAt: new Date(run.availableMs),
    idempotencyKey: run.idempotencyKey,
    correlationId: run.correlationId,
  }
}

function createJobLog(write: (level: 'info' | 'warn', message: string) => void): JobLog {
  const bounded = (message: string): string => cutBytes(redactSecrets(String(message)), 1_000)
  return { info: (message) => write('info', bounded(message)), warn: (message) => write('warn', bounded(message)) }
}

function boundedLines(lines: readonly string[]): string[] {
  let bytes = 0
  const kept = lines.toReversed().filter((line) => (bytes += Buffer.byteLength(line)) <= logBytes)
  return kept.toReversed()
}

/** A result that is too large or cannot be stored is left out with a warning: the work is done all the same. */
function resultTextOf(result: HandlerResult, log: JobLog): string | null {
  if (result.result === undefined) return null
  const text = JSON.stringify(result.result)
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

function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown.name === 'AbortError' || thrown.name === 'JobAborted' || thrown.cause instanceof JobAborted)
}
