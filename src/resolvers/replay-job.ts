import { databaseFault } from '../jobs/database-fault.ts'
import { encodePayload, type PayloadProblem } from '../jobs/payload.ts'
import { ranges } from '../jobs/ranges.ts'
import { replayJob as replay } from '../sql/replay-job.ts'
import { authorize, type RequestContext } from './context.ts'
import { findPayloadProblems } from './find-payload-problems.ts'
import { jobResult, moveJob, type JobMoveInput, type JobResult } from './move-job.ts'
import { parseJobId } from './node-id.ts'
import { outsideSchedule, type ScheduleInput } from './schedule.ts'
import { invalid, type UserError } from './user-error.ts'

interface ReplayJobInput extends JobMoveInput {
  readonly schedule?: ScheduleInput | null | undefined
  /** Null or missing: the payload stays. */
  readonly payload?: unknown
  readonly payloadText?: string | null | undefined
}

/** Puts a dead or stopped job back, attempts at zero; with a corrected payload, if one is given. */
export async function replayJob(input: ReplayJobInput, context: RequestContext): Promise<JobResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  const outside = outsideSchedule(input.schedule)
  if (outside !== null) return failed([invalid(['schedule'], outside)])
  const closed = await closedTenant(input.id, context)
  if (closed !== null) return failed([closed])
  const corrected = await correctedPayload(input, context)
  if (corrected.errors.length > 0) return failed(corrected.errors)
  const { at = null, after = null } = input.schedule ?? {}
  try {
    const moved = await moveJob(
      {
        done: 'replayed',
        stepFor: ({ status }) =>
          status === 'dlq' || status === 'failed'
            ? {
                run: (db, ...params) => replay(db, ...params, corrected.text, at, after),
                follows: 'replay',
                tells: 'work',
              }
            : null,
      },
      input,
      context,
      caller,
    )
    return jobResult(moved)
  } catch (error) {
    if (corrected.text === null || databaseFault(error) !== 'data') throw error
    return failed([
      invalid(['payloadText'], 'The database refuses this payload: a value has a form that it cannot store.'),
    ])
  }
}

/** Null: the job's tenant is open, or there is no such job. */
async function closedTenant(id: string, { loaders }: RequestContext): Promise<UserError | null> {
  const jobId = parseJobId(id)
  const job = jobId === null ? null : await loaders.jobs.load(jobId)
  const tenant = job === null ? null : await loaders.tenants.load(job.tenantId)
  if (job === null || tenant?.status !== 'closed') return null
  return {
    type: 'ConflictError',
    code: 'CONFLICT',
    message: 'The tenant of this job is closed: nothing of it is run. Open it first.',
    path: ['id'],
    job,
  }
}

interface Corrected {
  /** As it goes to the database: what came as text is not rewritten. Null: none was given. */
  readonly text: string | null
  readonly errors: readonly UserError[]
}

async function correctedPayload(
  { id, payload, payloadText }: ReplayJobInput,
  context: RequestContext,
): Promise<Corrected> {
  if (payload == null && payloadText == null) return { text: null, errors: [] }
  if (payload != null && payloadText != null)
    return wrong(invalid(['payloadText'], 'Give `payload` or `payloadText`, not both.'))
  if (payloadText == null) return checked(id, payload, null, ['payload'], context)
  if (Buffer.byteLength(payloadText) > ranges.payloadBytes.max)
    return wrong(invalid(['payloadText'], 'At most 65,536 bytes (64 KiB) are allowed.'))
  const parsed = parse(payloadText)
  if (!parsed.ok) return wrong(invalid(['payloadText'], 'This is no JSON.'))
  return checked(id, parsed.value, payloadText, ['payloadText'], context)
}

/** The payload as the kind of the job wants it; of a job that is not there nothing is said here. */
async function checked(
  id: string,
  payload: unknown,
  text: string | null,
  path: readonly string[],
  context: RequestContext,
): Promise<Corrected> {
  const encoded = encodePayload(payload)
  if (!encoded.ok) return wrong(problem(path, encoded.problem))
  const jobId = parseJobId(id)
  const job = jobId === null ? null : await context.loaders.jobs.load(jobId)
  const verdict = job === null ? null : await findPayloadProblems(job.kind, payload, context)
  const errors = verdict?.known === true ? verdict.problems.map((each) => problem(path, each)) : []
  return { text: text ?? encoded.text, errors }
}

function problem(path: readonly string[], { message, pointer, keyword }: PayloadProblem): UserError {
  return invalid(path, message, { pointer, keyword })
}

function parse(text: string): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch {
    return { ok: false }
  }
}

function wrong(error: UserError): Corrected {
  return { text: null, errors: [error] }
}

function failed(errors: readonly UserError[]): JobResult {
  return { job: null, errors }
}
