import type { JobAborted } from '../jobs/errors.ts'
import type { JobKind } from '../jobs/kind.ts'
import { payloadSecrets } from '../jobs/payload-secrets.ts'
import type { FailureFollower, Handler } from './handler.ts'
import type { ProgressWriter } from './progress-writer.ts'
import type { Run } from './run.ts'

/** A kind as this process can run it. */
export interface RunnableKind {
  readonly kind: JobKind
  readonly handler: Handler
  /** In the transaction of the move that ends the job for good (PROMISES, `onFailure`). */
  readonly onFailure?: FailureFollower
}

/** A handler at work. What is only sometimes needed is made when it is first touched: a drain starts 40,000 of these a second. */
export interface Execution {
  readonly run: Run
  readonly runnable: RunnableKind
  /** When it last showed a sign of life, in monotonic milliseconds, as all times here; 0: it has begun. */
  heartbeatAt: number
  /** When an abort was signalled; 0: not aborted. */
  abortedAt: number
  aborted: JobAborted | undefined
  controller: AbortController | undefined
  progress: ProgressWriter | undefined
  /** The handler's last log lines. */
  lines: string[] | undefined
  secrets: readonly string[] | undefined
}

export function createExecution(run: Run, runnable: RunnableKind): Execution {
  return {
    run,
    runnable,
    heartbeatAt: 0,
    abortedAt: 0,
    aborted: undefined,
    controller: undefined,
    progress: undefined,
    lines: undefined,
    secrets: undefined,
  }
}

/** What the payload holds that must not be told; read when something is told for the first time. */
export function secretsOf(execution: Execution): readonly string[] {
  const { run, runnable } = execution
  const { redact } = runnable.kind
  return (execution.secrets ??= redact.length === 0 ? [] : payloadSecrets(JSON.parse(run.payloadText), redact))
}

/** Fires the handler's AbortSignal; the first reason stands. */
export function abortExecution(execution: Execution, reason: JobAborted): void {
  if (execution.aborted !== undefined) return
  execution.aborted = reason
  execution.abortedAt = performance.now()
  execution.controller?.abort(reason)
}
