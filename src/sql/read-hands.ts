import { statement } from './statement.ts'

/** What a living pool of slots holds, in short: another text means other jobs. */
export interface Hand {
  readonly workerId: number
  readonly jobs: string
}

export const readHands = statement<[instanceIds: readonly string[]], Hand>(
  'read_hands',
  `-- reads which jobs the pools of these instances hold, on aa_worker_instance and through aa_claim
select w.id as "workerId", coalesce(md5(string_agg(j.id::text, ' ' order by j.id)), '') as jobs
  from mdm.aa_worker w
  left join lateral (
    select q.id
      from mdm.aa_claim c
     cross join lateral unnest(c.job_ids) u(id)
     cross join lateral (select r.id from mdm.aa_job r where r.id = u.id and r.lease = c.lease and r.status = 'running' and r.claimed_by = w.name limit 1) q
     where c.instance_id = w.instance_id) j on true
 where w.instance_id = any ($1::uuid[])
 group by w.id
 order by w.id`,
)
