import { counting, type Counted, type Counting } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const countDeadJobs = statement<Counting, Counted>(
  'count_dead_jobs',
  counting('on aa_job_dead_by_tenant or aa_job_dead', 'mdm.aa_job j', 'j.dead_at is not null'),
)
