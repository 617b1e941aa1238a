import { statement } from './statement.ts'

type Params = [
  defaultRetentionMs: number,
  afterId: string,
  limit: number,
  /** Ages between which jobs were born for this walk; null: no bound. */
  youngerThanMs: number | null,
  olderThanMs: number | null,
]

/** Looks at so many jobs, over or not: it never reads through all that are younger for one more. `lastId` null: the walk is at its end. */
export const deleteDoneJobs = statement<Params, { deleted: number; lastId: string | null }>(
  'delete_done_jobs',
  `-- done -> (deleted) when the kind's retention is over, in small batches along the primary key, whose first 48 bits are the time of birth
with born as materialized (
  select rpad(lpad(to_hex(greatest(0, extract(epoch from now()) * 1000 - $4::float8)::bigint), 12, '0'), 32, '0')::uuid as low,
         rpad(lpad(to_hex(greatest(0, extract(epoch from now()) * 1000 - $5::float8)::bigint), 12, '0'), 32, '0')::uuid as high),
old as materialized (
  select j.id, j.ctid as tid, j.status = 'done' and j.completed_at < now() - coalesce(k.retention_ms, $1::float8) * interval '1 millisecond' as over
    from mdm.aa_job j
    join mdm.aa_job_kind k on k.name = j.job_kind
   where j.id > (select greatest($2::uuid, low) from born)
   order by j.id
   limit $3::int),
locked as materialized (
  select j.ctid as tid from mdm.aa_job j where j.ctid = any (array(select tid from old where over)) for update skip locked),
gone as (
  delete from mdm.aa_job j where j.ctid = any (array(select tid from locked)) and j.status = 'done' returning 1)
select (select count(*)::int from gone) as deleted,
       (select case when $5 is null or id < (select high from born) then id::text end from old offset $3::int - 1) as "lastId"`,
)
