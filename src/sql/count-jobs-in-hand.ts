import { statement } from './statement.ts'

export interface JobsInHand {
  readonly workerId: number
  /** Claimed and not ended, those in a buffer before the slots too. */
  readonly jobs: number
}

export const countJobsInHand = statement<[workerIds: readonly string[]], JobsInHand>(
  'count_jobs_in_hand',
  `-- reads how many jobs these workers hold, through aa_claim; a claim's list keeps jobs that have ended and may run elsewhere by now
select w.id as "workerId", count(j.id)::int as jobs
  from mdm.aa_worker w
  join mdm.aa_claim c on c.instance_id = w.instance_id
 cross join lateral unnest(c.job_ids) u(id)
 cross join lateral (
   select q.id from mdm.aa_job q where q.id = u.id and q.lease = c.lease and q.status = 'running' and q.claimed_by = w.name limit 1) j
 where w.id = any ($1::int[])
 group by w.id`,
)
