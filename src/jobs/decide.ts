import { backoffMs, type BackoffPolicy } from './backoff.ts'
import { JobAborted, NeverRetry, RetryLater, Snooze } from './errors.ts'
import { describeFailure, type Failure } from './failure.ts'

/** What becomes of the job of a run that did not succeed. The database may still overrule a failure: attempts and stop requests are read under the row's lock. */
export type Decision =
  | { readonly move: 'fail'; readonly permanent: boolean; readonly delayMs: number; readonly failure: Failure }
  | { readonly move: 'release'; readonly delayMs: number; readonly cause: 'snoozed' | 'shutdown' }

const longestDelayMs = 366 * 24 * 60 * 60 * 1_000
const shortestSnoozeMs = 100

/** The rule for what a handler has thrown. Time and chance are arguments: `random` is in [0, 1). `secrets` must not be told by the failure. */
export function decide(
  job: { readonly attempts: number },
  thrown: unknown,
  backoff: BackoffPolicy,
  random: number,
  secrets: readonly string[] = [],
): Decision {
  if (thrown instanceof Snooze)
    return { move: 'release', delayMs: Math.max(boundedMs(thrown.delayMs), shortestSnoozeMs), cause: 'snoozed' }
  if (thrown instanceof JobAborted && thrown.reason === 'shutdown')
    return { move: 'release', delayMs: 0, cause: 'shutdown' }
  const delayMs = backoffMs(job.attempts, backoff, random)
  const failure = describeFailure(causeOf(thrown), secrets)
  if (thrown instanceof NeverRetry) return { move: 'fail', permanent: true, delayMs: 0, failure }
  if (thrown instanceof RetryLater)
    return { move: 'fail', permanent: false, delayMs: Math.max(boundedMs(thrown.delayMs), delayMs), failure }
  return { move: 'fail', permanent: false, delayMs, failure }
}

/** What is shown is what went wrong, not the handler's way of saying what to do about it. */
function causeOf(thrown: unknown): unknown {
  return (thrown instanceof RetryLater || thrown instanceof NeverRetry) && thrown.cause !== undefined
    ? thrown.cause
    : thrown
}

/** NaN sorts above everything in PostgreSQL: a delay is a number of milliseconds or it is none. */
function boundedMs(ms: number): number {
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), longestDelayMs) : 0
}
