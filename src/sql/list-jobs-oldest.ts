import { bornOfTenants, type ByBirth, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listJobsOldest = statement<ByBirth, PlacedJob>('list_jobs_oldest', bornOfTenants('asc'))
