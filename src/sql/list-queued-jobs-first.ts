import { queuedByPriority, type ByPriority, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listQueuedJobsFirst = statement<ByPriority, PlacedJob>('list_queued_jobs_first', queuedByPriority('asc'))
