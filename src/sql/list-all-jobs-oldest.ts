import { bornOfAll, type ByBirth, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listAllJobsOldest = statement<ByBirth, PlacedJob>('list_all_jobs_oldest', bornOfAll('asc'))
