import { queuedByDueTime, type ByTime, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listQueuedJobsLatest = statement<ByTime, PlacedJob>('list_queued_jobs_latest', queuedByDueTime('desc'))
