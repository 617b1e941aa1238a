import { bulkCandidates, type BulkMatchParams } from './bulk-candidates.ts'
import { statement } from './statement.ts'

/** What matches, counted no further than the limit. */
export interface BulkPreviewRow {
  readonly count: number
  /** Largest first. */
  readonly groups: readonly { readonly kind: string; readonly tenantId: string; readonly count: number }[]
  /** The oldest of those found. */
  readonly sample: readonly string[]
}

export const previewBulkOperation = statement<
  [...BulkMatchParams, countLimit: number, sampleSize: number],
  BulkPreviewRow
>(
  'preview_bulk_operation',
  `-- reads what an action on many jobs would take: on the queue's indexes, aa_claim and aa_job_dead
with found as materialized (
  select * from (${bulkCandidates}) candidate limit $23::int),
slices as (
  select f.job_kind, f.tenant_id, count(*)::int as count from found f group by f.job_kind, f.tenant_id)
select (select count(*)::int from found) as count,
       (select coalesce(jsonb_agg(jsonb_build_object('kind', s.job_kind, 'tenantId', s.tenant_id, 'count', s.count) order by s.count desc, s.job_kind, s.tenant_id), '[]')
          from slices s) as groups,
       array(select f.id::text from found f order by f.id limit $24::int) as sample`,
)
