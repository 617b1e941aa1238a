import { jobMatches, type JobMatchParams } from './job-matches.ts'

/** `openTenantsOnly`: nothing of closed tenants, since nothing of them is run. */
export type BulkMatchParams = [...JobMatchParams, openTenantsOnly: boolean]

const columns = 'j.id, j.revision, j.tenant_id, j.job_kind'
const matches = `${jobMatches}
     and (not $22::boolean or j.tenant_id in (select n.id from mdm.aa_tenant n where n.status = 'active'))`

/** Jobs that match and are not done, in no order: on the queue's indexes, aa_claim and aa_job_dead. Parameters 1 to 22; $2 is never null. */
export const bulkCandidates = `select ${columns} from mdm.aa_job j where 'pending' = any ($2::mdm.job_status[]) and (j.lane = 0 or j.lane = 1) and ${matches}
  union all
  select ${columns}
    from mdm.aa_job j
   where 'running' = any ($2::mdm.job_status[]) and j.status = 'running' and j.id = any (array(select unnest(c.job_ids) from mdm.aa_claim c))
     and ${matches}
  union all
  select ${columns} from mdm.aa_job j where $2::mdm.job_status[] && '{dlq,failed}' and j.dead_at is not null and ${matches}`
