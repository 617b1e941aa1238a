import { statement } from './statement.ts'

export const promoteJobs = statement<[limit: number], { promoted: number; isLeft: boolean; nextMs: number | null }>(
  'promote_jobs',
  `-- lane 1 -> lane 0 for jobs whose time has come; says how many, whether some were left, and in how many milliseconds the next is due; lives on aa_job_waiting
-- One instance at a time: several would look at one another's jobs anew, as claims did (src/sql/claim-parts.ts).
with due as materialized (
  select ctid as tid from mdm.aa_job
   where (select pg_try_advisory_xact_lock(hashtextextended('stellwerk promote', 0))) and lane = 1 and available_at <= now()
   order by available_at
   limit $1::int
     for update skip locked),
moved as (
  update mdm.aa_job j set deferred = false where j.ctid = any (array(select tid from due)) returning 1)
select (select count(*)::int from moved) as promoted,
       (select count(*) from (select from mdm.aa_job where lane = 1 and available_at <= now() limit $1::int + 1) d) > (select count(*) from moved) as "isLeft",
       (select date_part('epoch', min(available_at) - clock_timestamp()) * 1000 from mdm.aa_job where lane = 1 and available_at > now()) as "nextMs"`,
)
