import { statement } from './statement.ts'

export const pruneStatistics = statement<[keepDays: number, limit: number], { deleted: number }>(
  'prune_statistics',
  `-- minutes that are older than is kept -> (deleted), in small batches on aa_stat_minute_time
with old as materialized (
  select s.ctid as tid from mdm.aa_stat_minute s where s.minute < now() - $1::int * interval '1 day' order by s.minute limit $2::int),
samples as (
  delete from mdm.aa_stat_sample where minute < now() - $1::int * interval '1 day'),
gone as (
  delete from mdm.aa_stat_minute s where s.ctid = any (array(select tid from old)) returning 1)
select count(*)::int as deleted from gone`,
)
