import { counting, type Counted, type Counting } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const countJobsOfTenants = statement<Counting, Counted>(
  'count_jobs_of_tenants',
  counting(
    'tenant by tenant on aa_audit_log_births',
    `unnest($1::uuid[]) tenant(id)
          join mdm.aa_audit_log a on a.tenant_id = tenant.id and a.action = 'job_enqueued'
          join mdm.aa_job j on j.id = a.job_id`,
    'true',
  ),
)
