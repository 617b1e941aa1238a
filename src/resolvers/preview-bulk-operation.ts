import { outsideRange, ranges } from '../jobs/ranges.ts'
import type { JobRow } from '../sql/job-row.ts'
import { previewBulkOperation as preview, type BulkPreviewRow } from '../sql/preview-bulk-operation.ts'
import { ApiError } from './api-error.ts'
import { boundedRead } from './bounded-read.ts'
import type { RequestContext } from './context.ts'
import type { Count } from './list-jobs.ts'
import type { BulkSelection } from './select-bulk-jobs.ts'

/** What an action on many jobs would take. */
export interface BulkPreview {
  readonly matched: Count
  /** Largest first. */
  readonly groups: BulkPreviewRow['groups']
  /** The oldest of them. */
  readonly sample: (first: number) => Promise<JobRow[]>
}

const mostCounted = 100_000

export async function previewBulkOperation(
  { match }: BulkSelection,
  { deps, loaders }: RequestContext,
): Promise<BulkPreview> {
  const [found] = await boundedRead(deps.pools.api, (db) => preview(db, ...match, mostCounted + 1, ranges.pageSize.max))
  const { count, groups, sample } = found!
  return {
    matched: count > mostCounted ? { count: mostCounted, precision: 'AT_LEAST' } : { count, precision: 'EXACT' },
    groups,
    async sample(first) {
      const outside = outsideRange('`first`', first, ranges.pageSize)
      if (outside !== null) throw new ApiError('BAD_USER_INPUT', outside, { reason: 'INVALID' })
      const jobs = await Promise.all(sample.slice(0, first).map((id) => loaders.jobs.load(id)))
      return jobs.filter((job) => job !== null)
    },
  }
}
