import type { JobRow } from '../sql/job-row.ts'
import type { RequestContext } from './context.ts'
import type { EnqueueAnswer, EnqueuedAnswer } from './enqueue-answers.ts'
import { jobPath } from './job-path.ts'
import { invalid, type UserError } from './user-error.ts'

/** What became of one job to enqueue. */
export interface EnqueueResult {
  /** A new job's row is made when it is asked for. */
  readonly job: JobRow | (() => JobRow) | null
  readonly outcome: 'CREATED' | 'DUPLICATE' | 'UPDATED' | null
  readonly errors: readonly UserError[]
}

const outcomes = {
  created: 'CREATED',
  duplicate: 'DUPLICATE',
  duplicate_mismatch: 'DUPLICATE',
  updated: 'UPDATED',
} as const

/** A new job's row is known; an old one is read, all of one tick at once. `index`: its place among several. */
export function enqueueResult(
  answer: EnqueueAnswer,
  context: RequestContext,
  index: number | null,
): EnqueueResult | Promise<EnqueueResult> {
  if (answer.type === 'refused') return failed([refusal(answer.message, jobPath(index))])
  // Without a promise: a hundred new jobs would make three hundred.
  if (answer.job !== null) return { job: answer.job, outcome: outcomes[answer.outcome], errors: none }
  return oldJobResult(answer, context, jobPath(index))
}

const none: readonly UserError[] = []

async function oldJobResult(
  answer: EnqueuedAnswer,
  context: RequestContext,
  path: readonly string[],
): Promise<EnqueueResult> {
  const job = await context.loaders.jobs.load(answer.jobId)
  const errors = answer.outcome === 'duplicate_mismatch' && job !== null ? [keyMismatch(job, path)] : []
  return { job, outcome: outcomes[answer.outcome], errors }
}

export function failed(errors: readonly UserError[]): EnqueueResult {
  return { job: null, outcome: null, errors }
}

/** What the database refused although it had passed the checks: a tenant that was closed, a kind that is gone. */
export function refusal(message: string, path: readonly string[]): UserError {
  return invalid(message.startsWith('Tenant ') ? [...path, 'tenantId'] : path, message)
}

export function keyMismatch(job: JobRow, path: readonly string[]): UserError {
  return {
    type: 'ConflictError',
    code: 'IDEMPOTENCY_MISMATCH',
    message:
      'This idempotency key was used before with another payload; that job is left as it is. Take a new key for new work.',
    path: [...path, 'idempotencyKey'],
    job,
  }
}
