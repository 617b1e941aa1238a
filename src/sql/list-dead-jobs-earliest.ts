import { deadOfTenants, type ByTime, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listDeadJobsEarliest = statement<ByTime, PlacedJob>('list_dead_jobs_earliest', deadOfTenants('asc'))
