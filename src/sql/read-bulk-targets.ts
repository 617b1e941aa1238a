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
  from (select * from mdm.aa_bulk_target where operation_id = $1::uuid and place >= $2::int order by place limit $3::int) t
  left join lateral (select q.job_kind from mdm.aa_job q where q.id = t.job_id offset 0) j on true
 order by t.place`,
)
