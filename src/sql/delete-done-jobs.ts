import { statement } from './statement.ts'

export const deleteDoneJobs = statement<
  [defaultRetentionMs: number, afterId: string, limit: number],
  { deleted: number; lastId: string | null }
>(
  'delete_done_jobs',
  `-- done -> (deleted) when the kind's retention is over, in small batches along the primary key, which is in order of time
with old as materialized (
  select j.id, j.ctid as tid, j.status = 'done' and j.completed_at < now() - coalesce(k.retention_ms, $1::float8) * interval '1 millisecond' as over
    from mdm.aa_job j
    join mdm.aa_job_kind k on k.name = j.job_kind
   where j.id > $2::uuid and j.created_at < now() - (select min(coalesce(retention_ms, $1::float8)) from mdm.aa_job_kind) * interval '1 millisecond'
   order by j.id
   limit $3::int),
locked as materialized (
  select j.ctid as tid from old o join mdm.aa_job j on j.id = o.id where o.over for update of j skip locked),
gone as (
  delete from mdm.aa_job j where j.ctid = any (array(select tid from locked)) and j.status = 'done' returning 1)
select (select count(*)::int from gone) as deleted, (select case when count(*) = $3::int then max(id::text) end from old) as "lastId"`,
)
