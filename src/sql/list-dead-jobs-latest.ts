import { deadOfTenants, type ByTime, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listDeadJobsLatest = statement<ByTime, PlacedJob>('list_dead_jobs_latest', deadOfTenants('desc'))
