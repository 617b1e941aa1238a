import { bornOfAll, type ByBirth, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listAllJobsNewest = statement<ByBirth, PlacedJob>('list_all_jobs_newest', bornOfAll('desc'))
