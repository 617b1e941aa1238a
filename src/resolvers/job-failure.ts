import { fingerprint } from '../jobs/failure.ts'
import type { EventError } from '../jobs/job-event.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { RequestContext } from './context.ts'

/** A failure as it is shown. Facts that stand only in the journal are read when they are asked for. */
export interface JobFailure {
  readonly message: string
  readonly name: string | null
  readonly fingerprint: string
  readonly at: (context: RequestContext) => Date | Promise<Date>
  readonly detail: (context: RequestContext) => string | null | Promise<string | null>
}

/** The job's last failure; null: it has none. */
export function lastFailure(job: JobRow): JobFailure | null {
  if (job.lastError === null) return null
  const read = (context: RequestContext) => context.loaders.lastFailures.load(job.id)
  return {
    ...spoken(job.lastError, null),
    fingerprint: job.errorFingerprint ?? fingerprint(job.lastError),
    at: async (context) => (await read(context))?.at ?? job.completedAt ?? job.claimedAt ?? job.createdAt,
    detail: async (context) => (await read(context))?.detail ?? null,
  }
}

/** The failure that an event tells. */
export function eventFailure(error: EventError, at: Date): JobFailure {
  return {
    ...spoken(error.message, error.name),
    fingerprint: error.fingerprint ?? fingerprint(error.message),
    at: () => at,
    detail: () => error.detail,
  }
}

/** Errors are kept as `<class>: <message>`. */
function spoken(text: string, name: string | null): { message: string; name: string | null } {
  const [, found, rest] = /^([A-Za-z_$][\w$.]{0,99}): (.*)$/s.exec(text) ?? []
  const message = (rest ?? text).split('\n', 1)[0]!
  return { message, name: name ?? found ?? null }
}
