import { bornOfTenants, type ByBirth, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listJobsNewest = statement<ByBirth, PlacedJob>('list_jobs_newest', bornOfTenants('desc'))
