import type { JobRow } from '../sql/job-row.ts'
import type { PauseRow } from '../sql/pause-row.ts'
import type { WaitingRow } from '../sql/read-waiting.ts'
import type { RequestContext } from './context.ts'

export type WaitCode =
  | 'NOT_YET_DUE'
  | 'PAUSED'
  | 'RATE_LIMITED'
  | 'CONCURRENCY_FULL'
  | 'IN_LINE'
  | 'NO_WORKER'
  | 'TENANT_INACTIVE'

/** One reason why a job waits. */
export interface WaitReason {
  readonly code: WaitCode
  readonly message: string
  /** When it ends by itself, if that is known. */
  readonly until: Date | null
  readonly pause: PauseRow | null
  readonly position: number | null
}

/** Why a job is not running; nothing, unless it is pending. The last word has the claim: a token bucket that is empty is known only where jobs were turned away. */
export async function waitReasons(job: JobRow, { loaders }: RequestContext): Promise<WaitReason[]> {
  if (job.status !== 'pending') return []
  const waiting = await loaders.waiting.load(job.id)
  if (waiting === null) return []
  const reasons = [...notYet(job, waiting), ...standing(waiting)]
  return reasons.length > 0 ? reasons : [inLine(waiting.position)]
}

function notYet(job: JobRow, { due, rateLimited }: WaitingRow): WaitReason[] {
  if (due) return []
  const until = job.availableAt
  if (rateLimited)
    return [
      reason('RATE_LIMITED', `The rate limit has no token; it is tried again at ${until.toISOString()}.`, { until }),
    ]
  return [reason('NOT_YET_DUE', `It is due at ${until.toISOString()}.`, { until })]
}

/** What no place in line helps against. */
function standing({ tenantActive, served, pauses, fullCaps }: WaitingRow): WaitReason[] {
  return [
    ...(tenantActive ? [] : [reason('TENANT_INACTIVE', 'Its tenant is closed.')]),
    ...pauses.map(({ since, until, ...rest }) => {
      const pause = { ...rest, since: new Date(since), until: until === null ? null : new Date(until) }
      return reason('PAUSED', `${pausedPart(pause)} is paused${pause.reason === null ? '.' : `: ${pause.reason}`}`, {
        until: pause.until,
        pause,
      })
    }),
    ...fullCaps.map(({ kind, tenantId, max }) => {
      const what = [...(kind === null ? [] : ['its kind']), ...(tenantId === null ? [] : ['its tenant'])].join(' and ')
      return reason('CONCURRENCY_FULL', `As many jobs of ${what} are running as are allowed: ${max}.`)
    }),
    ...(served ? [] : [reason('NO_WORKER', 'No living worker serves its kind and tenant.')]),
  ]
}

function inLine(position: number): WaitReason {
  const jobs =
    position >= 1_000 ? '1,000 jobs or more come' : position === 1 ? 'One job comes' : `${position} jobs come`
  return reason('IN_LINE', position === 0 ? 'It is next.' : `${jobs} first.`, { position })
}

function pausedPart({ kind, tenantId }: PauseRow): string {
  if (kind !== null && tenantId !== null) return 'Its kind for its tenant'
  return kind === null ? 'Its tenant' : 'Its kind'
}

function reason(code: WaitCode, message: string, more: Partial<Omit<WaitReason, 'code' | 'message'>> = {}): WaitReason {
  return { code, message, until: null, pause: null, position: null, ...more }
}
