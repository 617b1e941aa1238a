import { counting, type Counted, type Counting } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const countQueuedJobs = statement<Counting, Counted>(
  'count_queued_jobs',
  counting("on the queue's indexes", 'mdm.aa_job j', '(j.lane = 0 or j.lane = 1)'),
)
