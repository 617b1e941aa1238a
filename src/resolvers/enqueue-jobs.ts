import { ranges } from '../jobs/ranges.ts'
import { authorize, type RequestContext } from './context.ts'
import type { BulkAnswer } from './enqueue-batcher.ts'
import type { EnqueueJobInput } from './enqueue-input.ts'
import type { EnqueueOrder } from './enqueue-order.ts'
import { enqueueResult, failed, keyMismatch, refusal, type EnqueueResult } from './enqueue-result.ts'
import { jobPath } from './job-path.ts'
import { prepareOrder, type PreparedOrder } from './prepare-order.ts'
import { invalid, type UserError } from './user-error.ts'

interface EnqueueJobsInput {
  readonly jobs: readonly EnqueueJobInput[]
  readonly atomic: boolean
}

export interface EnqueueJobsResult {
  readonly results: readonly EnqueueResult[]
  readonly created: number
  readonly errors: readonly UserError[]
}

/** Enqueues up to 1,000 jobs: all or none, or each that can be. `results[i]` belongs to `jobs[i]`. */
export async function enqueueJobs(
  { jobs, atomic }: EnqueueJobsInput,
  context: RequestContext,
): Promise<EnqueueJobsResult> {
  const caller = authorize(context, [['ENQUEUE_JOBS']])
  const wrong = wrongNumber(jobs.length)
  if (wrong !== null) return { results: [], created: 0, errors: [wrong] }
  const prepared = await all(jobs.map((job, i) => prepareOrder(job, context, caller, i)))
  const results = atomic ? await enqueueAll(prepared, context) : await enqueueEach(prepared, context)
  let bad = 0
  let created = 0
  for (const { errors, outcome } of results) {
    if (errors.length > 0) bad += 1
    if (outcome === 'CREATED') created += 1
  }
  const none = atomic && bad > 0
  return {
    results,
    created,
    errors: none
      ? [
          invalid(
            ['jobs'],
            `Nothing was enqueued: ${bad} of ${jobs.length} jobs cannot go in. With atomic: false the others would.`,
          ),
        ]
      : [],
  }
}

function wrongNumber(actual: number): UserError | null {
  const { min, max } = ranges.enqueueAtOnce
  if (actual < min) return invalid(['jobs'], 'Give 1 to 1,000 jobs.')
  if (actual <= max) return null
  return {
    type: 'LimitError',
    code: 'LIMIT_EXCEEDED',
    message: 'Give 1 to 1,000 jobs; more go in several calls.',
    path: ['jobs'],
    limit: max,
    actual,
  }
}

async function enqueueEach(prepared: readonly PreparedOrder[], context: RequestContext): Promise<EnqueueResult[]> {
  const answers = await context.deps.enqueuer.enqueueEach(prepared.flatMap((each) => (each.ok ? [each.order] : [])))
  const next = answers.values()
  return all(prepared.map((each, i) => (each.ok ? enqueueResult(next.next().value!, context, i) : failed(each.errors))))
}

async function enqueueAll(prepared: readonly PreparedOrder[], context: RequestContext): Promise<EnqueueResult[]> {
  const orders: EnqueueOrder[] = []
  for (const each of prepared) {
    if (!each.ok) return prepared.map((one) => failed(one.ok ? [] : one.errors))
    orders.push(each.order)
  }
  return bulkResults(await context.deps.enqueuer.enqueueAll(orders), orders.length, context)
}

async function bulkResults(answer: BulkAnswer, size: number, context: RequestContext): Promise<EnqueueResult[]> {
  if (answer.type === 'enqueued') return all(answer.answers.map((each, i) => enqueueResult(each, context, i)))
  const results = Array.from({ length: size }, () => failed([]))
  if (answer.type === 'refused') {
    results[answer.index] = failed([refusal(answer.message, jobPath(answer.index))])
    return results
  }
  const old = await Promise.all(answer.jobs.map(({ jobId }) => context.loaders.jobs.load(jobId)))
  answer.jobs.forEach(({ index }, i) => {
    const job = old[i] ?? null
    // A job that was discarded in between leaves its key free: the next call goes through.
    results[index] =
      job === null
        ? failed([invalid(jobPath(index), 'The job of this key is just going. Try again.')])
        : { job, outcome: 'DUPLICATE', errors: [keyMismatch(job, jobPath(index))] }
  })
  return results
}

/** Promise.all makes two promises of each value that is none. */
async function all<Value>(values: readonly (Value | Promise<Value>)[]): Promise<Value[]> {
  return values.some((value) => value instanceof Promise) ? Promise.all(values) : (values as Value[])
}
