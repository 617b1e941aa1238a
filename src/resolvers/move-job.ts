import { inTransaction } from '../db/transaction.ts'
import type { Topic } from '../events/wakeup.ts'
import { actorOf, tenantPredicate, type Caller } from '../jobs/permissions.ts'
import type { AdminMoveParams } from '../sql/admin-move-parts.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { Queryable } from '../sql/statement.ts'
import type { RequestContext } from './context.ts'
import type { FollowedMove } from './follow-up.ts'
import { parseJobId } from './node-id.ts'
import { badReason } from './reason.ts'
import type { UserError } from './user-error.ts'

/** The input `JobActionInput`, and the beginning of those of other moves. */
export interface JobMoveInput {
  readonly id: string
  readonly expectedRevision?: number | null | undefined
  readonly reason?: string | null | undefined
}

/** A move that a person asks for. */
export interface JobMove<Row> {
  /** `replayed`, `stopped`: for sentences. */
  readonly done: string
  /** The statement that makes it for a job as it stands; null: it cannot be made from there. */
  readonly stepFor: (job: JobRow) => MoveStep<Row> | null
}

interface MoveStep<Row> {
  /** Zero rows: the job was not there any more in this state. */
  readonly run: (db: Queryable, ...params: AdminMoveParams) => Promise<Row[]>
  /** What the kind's own rows follow; null: nothing. */
  readonly follows: FollowedMove['move'] | null
  /** Who has to hear of it, beside those who watch. */
  readonly tells: Topic | null
}

export type Moved<Row> =
  | { readonly ok: true; readonly row: Row }
  | { readonly ok: false; readonly errors: readonly UserError[] }

/** What a mutation on one job answers. */
export interface JobResult {
  readonly job: JobRow | null
  readonly errors: readonly UserError[]
}

/** A job may move on between the look and the move; who asked for no revision is not bothered with that. */
const mostTries = 20

/** Makes a move, or says why not: the job is not the caller's, has moved on, or is in no status that allows it. */
export async function moveJob<Row>(
  move: JobMove<Row>,
  input: JobMoveInput,
  context: RequestContext,
  caller: Caller,
): Promise<Moved<Row>> {
  const reason = input.reason || null
  const errors = badReason(reason)
  if (errors.length > 0) return { ok: false, errors }
  const jobId = parseJobId(input.id)
  const expected = input.expectedRevision ?? null
  const params: AdminMoveParams = [
    jobId ?? '',
    tenantPredicate(caller),
    expected,
    actorOf(caller.principal),
    reason,
    context.requestId,
  ]
  for (let tries = 1; ; tries += 1) {
    const job = jobId === null ? null : await context.loaders.jobs.load(jobId)
    if (job === null)
      return refused({
        type: 'NotFoundError',
        code: 'NOT_FOUND',
        message: 'There is no such job among your tenants.',
        path: ['id'],
        id: input.id,
      })
    const step = move.stepFor(job)
    if (step === null || tries > mostTries || (expected !== null && job.revision !== expected))
      return refused(conflict(move.done, job, expected))
    const made = await makeStep(step, params, job, context)
    if (made.followUpFailed) return refused(followUpFailed(job))
    if (made.row === undefined) continue
    if (step.tells !== null) context.deps.wakeup.signal(step.tells)
    context.deps.wakeup.signal('journal')
    return { ok: true, row: made.row }
  }
}

/** The answer of a mutation that shows the job. */
export function jobResult(moved: Moved<JobRow>): JobResult {
  return moved.ok ? { job: moved.row, errors: [] } : { job: null, errors: moved.errors }
}

type Made<Row> = { readonly row: Row | undefined; readonly followUpFailed: boolean }

/** One statement that commits itself; a transaction only where the kind has rows of its own that follow. */
async function makeStep<Row>(
  step: MoveStep<Row>,
  params: AdminMoveParams,
  job: JobRow,
  { deps }: RequestContext,
): Promise<Made<Row>> {
  const { pools, followUps, events } = deps
  const follow = step.follows === null ? undefined : followUps.get(job.kind)
  if (step.follows === null || follow === undefined)
    return { row: (await step.run(pools.api, ...params))[0], followUpFailed: false }
  const { follows } = step
  let failure: Error | undefined
  try {
    const row = await inTransaction(pools.commit, async (tx) => {
      const [moved] = await step.run(tx, ...params)
      if (moved === undefined) return undefined
      await follow(tx, job, {
        move: follows,
        error: follows === 'stop' || follows === 'cancel' ? params[4] : job.lastError,
      }).catch((error: Error) => {
        failure = error
        throw error
      })
      return moved
    })
    return { row, followUpFailed: false }
  } catch (error) {
    if (failure === undefined) throw error
    events.emit({ type: 'loop:failed', loop: `onFailure of ${job.kind}`, error: failure })
    return { row: undefined, followUpFailed: true }
  }
}

function conflict(done: string, job: JobRow, expected: number | null): UserError {
  const status = job.status.toUpperCase()
  const asked = job.status === 'running' && job.stopCause !== null
  const message =
    expected !== null && job.revision !== expected
      ? `The job has moved on: it is at revision ${job.revision}, not ${expected}. Look at it and decide again.`
      : asked
        ? `The job was asked to end before (${job.stopCause}); it cannot be ${done} while it ends.`
        : `The job is ${status}; from there it cannot be ${done}.`
  return {
    type: 'ConflictError',
    code: 'CONFLICT',
    message,
    path: expected !== null && job.revision !== expected ? ['expectedRevision'] : ['id'],
    job,
  }
}

function followUpFailed(job: JobRow): UserError {
  const message = `The own rows of ${job.kind} could not follow (its onFailure failed), so that nothing was changed. The service's log says why.`
  return { type: 'ConflictError', code: 'CONFLICT', message, path: ['id'], job }
}

function refused<Row>(error: UserError): Moved<Row> {
  return { ok: false, errors: [error] }
}
