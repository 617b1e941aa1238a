import { encodeDeadLetterGroup } from '../jobs/dead-letter-group-id.ts'
import { groupDeadLetters } from '../sql/group-dead-letters.ts'
import type { JobRow } from '../sql/job-row.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { matchParams, narrowJobs, type JobFilterInput } from './job-filter.ts'
import { planPage } from './page.ts'

export type DeadLetterGrouping = 'KIND' | 'TENANT' | 'ERROR'

interface DeadLetterGroupsInput {
  readonly filter?: JobFilterInput | null | undefined
  readonly by: readonly DeadLetterGrouping[]
  readonly first: number
}

/** Dead letters that died of the same thing. */
export interface DeadLetterGroup {
  /** Says which they are, so that they can be found again. */
  readonly id: string
  /** Null: not grouped by. */
  readonly kind: string | null
  readonly tenantId: string | null
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
  readonly sample: JobRow
  /** Deaths in each of the last 24 hours, oldest first. */
  readonly history: readonly number[]
}

/** What the dead letters died of, most frequent first. Throws BAD_USER_INPUT when there are more than two seconds can look through. */
export async function listDeadLetterGroups(
  { filter, by, first }: DeadLetterGroupsInput,
  context: RequestContext,
): Promise<DeadLetterGroup[]> {
  const caller = authorize(context, [['READ_JOBS']])
  const { size } = planPage({ first })
  const narrowed = await narrowJobs({ ...filter, status: ['dlq'] }, caller, context)
  const match = matchParams(narrowed, caller)
  const [byKind, byTenant, byError] = (['KIND', 'TENANT', 'ERROR'] as const).map((each) => by.includes(each)) as [
    boolean,
    boolean,
    boolean,
  ]
  const rows = await boundedRead(context.deps.pools.api, (db) =>
    groupDeadLetters(db, ...match, byKind, byTenant, byError, size),
  )
  const common = givenFields(filter)
  const groups = await Promise.all(
    rows.map(async ({ kind, tenantId, fingerprint, sampleId, ...facts }): Promise<DeadLetterGroup[]> => {
      const sample = await context.loaders.jobs.load(sampleId)
      // A group of one that was discarded in this moment is none.
      if (sample === null) return []
      const key = { kind: kind ?? undefined, tenantId: tenantId ?? undefined, fingerprint: fingerprint ?? undefined }
      return [{ ...facts, id: encodeDeadLetterGroup({ ...key, filter: common }), kind, tenantId, sample }]
    }),
  )
  return groups.flat()
}

function givenFields(filter: DeadLetterGroupsInput['filter']): Record<string, unknown> | undefined {
  const { status: _, ...rest } = filter ?? {}
  const given = Object.entries(rest).filter(([, value]) => value != null)
  return given.length === 0 ? undefined : Object.fromEntries(given)
}
