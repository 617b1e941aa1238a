import { counting, type Counted, type Counting } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const countAllJobs = statement<Counting, Counted>(
  'count_all_jobs',
  counting('on the table itself', 'mdm.aa_job j', 'true'),
)
