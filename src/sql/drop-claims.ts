import { statement } from './statement.ts'

export const dropClaims = statement<[claimIds: readonly string[]], never>(
  'drop_claims',
  `-- drops claim rows of which no job is held any more: those that a group with a lost row had to leave
delete from mdm.aa_claim c
 where c.id = any ($1::bigint[])
   and not exists (select from mdm.aa_job j where j.id = any (c.job_ids) and j.lease = c.lease)`,
)
