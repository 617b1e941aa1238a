import { statement } from './statement.ts'

/** A job that matched, and its revision then. */
export interface BulkTarget {
  readonly jobId: string
  readonly revision: number
  /** Null: it is gone. */
  readonly kind: string | null
}

export const readBulkTargets = statement<[operationId: string, fromPlace: number, limit: number], BulkTarget>(
  'read_bulk_targets',
  `-- reads the next jobs of an operation, by the primary key
select t.job_id as "jobId", t.revision, j.job_kind as kind
  from (select r.place + u.nth::int - 1 as place, u.job_id, u.revision
          from mdm.aa_bulk_target r
         cross join lateral unnest(r.job_ids, r.revisions) with ordinality u(job_id, revision, nth)
         where r.operation_id = $1::uuid and r.place > $2::int - 100 and r.place < $2::int + $3::int and r.place + u.nth > $2::int
         order by 1
         limit $3::int) t
  left join lateral (select q.job_kind from mdm.aa_job q where q.id = t.job_id offset 0) j on true
 order by t.place`,
)
