import type { Pool } from 'pg'
import type { DueKinds } from '../events/wakeup.ts'
import type { ProgressHint } from '../events/progress-hint.ts'
import { checkPayload } from '../jobs/check-payload.ts'
import { JobAborted, NeverRetry } from '../jobs/errors.ts'
import { cutBytes, redactSecrets } from '../jobs/failure.ts'
import type { JobKind } from '../jobs/kind.ts'
import { valueWithoutSecrets, withoutSecrets } from '../jobs/payload-secrets.ts'
import { abortExecution, secretsOf, type Execution } from './execution.ts'
import { fencedTransaction } from './fenced-transaction.ts'
import type { HandlerContext, JobFacts, JobLog, ProgressReport } from './handler.ts'
import { createProgressWriter } from './progress-writer.ts'
import type { Run } from './run.ts'

export interface HandlerContextDeps {
  readonly commitPool: Pool
  readonly logLine: (run: Run, level: 'info' | 'warn', message: string) => void
  /** Told of each progress report at once. */
  readonly onProgress: (hint: ProgressHint) => void
  /** Told after a commit in the middle of a run in which the handler enqueued. */
  readonly onEnqueued: (kinds: DueKinds) => void
}

const logLines = 100
const logLineBytes = 1_000

/** Makes what handlers get. One prototype for all of them: a job pays only for what its handler touches. */
export function createHandlerContexts(deps: HandlerContextDeps): (execution: Execution) => HandlerContext<unknown> {
  class Context implements HandlerContext<unknown> {
    readonly execution: Execution

    constructor(execution: Execution) {
      this.execution = execution
    }

    get payload(): unknown {
      const { run, runnable } = this.execution
      return keep(this, 'payload', readPayload(runnable.kind, run.payloadText))
    }

    get job(): JobFacts {
      return keep(this, 'job', jobFacts(this.execution.run))
    }

    get signal(): AbortSignal {
      const { execution } = this
      execution.controller ??= new AbortController()
      if (execution.aborted !== undefined && !execution.controller.signal.aborted)
        execution.controller.abort(execution.aborted)
      return execution.controller.signal
    }

    get log(): JobLog {
      return keep(this, 'log', jobLog(this.execution, deps.logLine))
    }

    get progress(): HandlerContext<unknown>['progress'] {
      const { execution } = this
      return keep(this, 'progress', (report) => progressOf(execution, deps).report(discreet(execution, report)))
    }

    get transaction(): HandlerContext<unknown>['transaction'] {
      const { execution } = this
      return keep(this, 'transaction', (work) =>
        fencedTransaction(deps.commitPool, execution.run, work, deps.onEnqueued),
      )
    }
  }

  return (execution) => new Context(execution)
}

/** In place of the getter, which made it. */
function keep<Name extends keyof HandlerContext<unknown>>(
  context: HandlerContext<unknown>,
  name: Name,
  value: HandlerContext<unknown>[Name],
): HandlerContext<unknown>[Name] {
  Object.defineProperty(context, name, { value })
  return value
}

/** What a handler knows of its job. */
export function jobFacts(run: Run): JobFacts {
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

/** The log of one run: kept with the attempt, and written to the service's log. */
export function jobLog(execution: Execution, write: HandlerContextDeps['logLine']): JobLog {
  const line = (level: 'info' | 'warn', text: string): void => {
    const message = cutBytes(redactSecrets(withoutSecrets(String(text), secretsOf(execution))), logLineBytes)
    const lines = (execution.lines ??= [])
    lines.push(`${level}: ${message}`)
    if (lines.length > logLines) lines.shift()
    write(execution.run, level, message)
  }
  return { info: (text) => line('info', text), warn: (text) => line('warn', text) }
}

/** What the payload's kind keeps secret is in no report: those go further than the row. */
function discreet(execution: Execution, report: ProgressReport): ProgressReport {
  const secrets = secretsOf(execution)
  return secrets.length === 0
    ? report
    : { ...report, ...(valueWithoutSecrets({ message: report.message, data: report.data }, secrets) as ProgressReport) }
}

function progressOf(execution: Execution, { commitPool, onProgress }: HandlerContextDeps) {
  return (execution.progress ??= createProgressWriter({
    pool: commitPool,
    run: execution.run,
    onReport: onProgress,
    onSaved: () => {
      execution.heartbeatAt = performance.now()
    },
    onLost: () => abortExecution(execution, new JobAborted('lease_lost', 'The claim on this job was taken back.')),
    onStop: () => abortExecution(execution, new JobAborted('stop', 'The job was asked to stop.')),
  }))
}

/** Parsed and checked when the handler first touches it. SQL callers are checked here for the first time. */
function readPayload(kind: JobKind, text: string): unknown {
  const checked = checkPayload(kind.payload, JSON.parse(text))
  if (checked.ok) return checked.payload
  const [problem] = checked.problems
  throw new NeverRetry(new PayloadInvalid(`payload${problem!.pointer}: ${problem!.message}`))
}

/** The stored payload breaks the kind's schema. */
class PayloadInvalid extends Error {
  override readonly name = 'PayloadInvalid'
}
