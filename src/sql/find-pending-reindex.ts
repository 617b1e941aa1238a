import { jobRowColumns, type JobRow } from './job-row.ts'
import { statement } from './statement.ts'

/** Only behind `hold_entity_type`, as a statement of its own: its snapshot has to see what whoever held the row before enqueued. */
export const findPendingReindex = statement<[typeId: string], JobRow>(
  'find_pending_reindex',
  `-- reads the job that is still to begin with all entities of a type, by the unique index on its key
select ${jobRowColumns}
  from mdm.ddm_entity_type t
  join mdm.aa_job j on j.tenant_id = t.tenant_id and j.job_kind = 'reindex' and j.idempotency_key = 'reindex:' || t.id || ':' || t.search_version
 where t.id = $1::uuid and j.status = 'pending' and not exists (select from mdm.ddm_reindex_run r where r.job_id = j.id)`,
)
