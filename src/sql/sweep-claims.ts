import { statement } from './statement.ts'

export const sweepClaims = statement<[olderThanMs: number], never>(
  'sweep_claims',
  `-- drops claim rows of which no job is held any more: those of instances that died between the end and the deletion
delete from mdm.aa_claim c
 where c.claimed_at < clock_timestamp() - $1::float8 * interval '1 millisecond'
   and not exists (select from mdm.aa_job j where j.id = any (c.job_ids) and j.status = 'running' and j.lease = c.lease)`,
)
