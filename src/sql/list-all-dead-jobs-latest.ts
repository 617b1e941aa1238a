import { deadOfAll, type ByTime, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listAllDeadJobsLatest = statement<ByTime, PlacedJob>('list_all_dead_jobs_latest', deadOfAll('desc'))
