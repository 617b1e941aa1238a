import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

export const findJobsOfTypeChange = statement<[typeId: string], JobRow>(
  'find_jobs_of_type_change',
  `-- reads the jobs that this transaction enqueued by changing a type, by the unique index on their keys
select ${jobRowColumns}
  from mdm.ddm_entity_type t
 cross join lateral (
   select 'gin_backfill' as kind, 'gin_backfill:' || t.id || ':' || t.gin_toggle_version as key
    union all
   select 'reindex', 'reindex:' || t.id || ':' || v from generate_series(t.search_version - 3, t.search_version) v
    union all
   select 'index_sync', 'index_sync:' || a.id || ':' || a.toggle_version from mdm.ddm_entity_type_attribute a where a.entity_type_id = t.id) k
  join mdm.aa_job j on j.tenant_id = t.tenant_id and j.job_kind = k.kind and j.idempotency_key = k.key
 where t.id = $1::uuid and j.xmin = pg_current_xact_id()::xid
 order by j.id`,
)
