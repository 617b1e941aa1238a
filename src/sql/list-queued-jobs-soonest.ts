import { queuedByDueTime, type ByTime, type PlacedJob } from './list-jobs-parts.ts'
import { statement } from './statement.ts'

export const listQueuedJobsSoonest = statement<ByTime, PlacedJob>('list_queued_jobs_soonest', queuedByDueTime('asc'))
