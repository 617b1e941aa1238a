import { statement } from './statement.ts'

export interface StatSamples {
  /** Counted from the start of the span. */
  readonly step: number
  /** In how many minutes of the step pending and running were counted. */
  readonly samples: number
  /** The first minute that there are statistics of; null: of none. */
  readonly since: Date | null
}

/** One row a step that was sampled, and one of step -1. */
export const readStatSamples = statement<[from: Date, to: Date, stepSeconds: number], StatSamples>(
  'read_stat_samples',
  `-- reads in which steps of a span the queue was counted, by the primary key of aa_stat_sample; and since when there are statistics
select floor(extract(epoch from s.minute - $1::timestamptz) / $3::int)::int as step, count(*)::int as samples, null::timestamptz as since
  from mdm.aa_stat_sample s
 where s.minute >= $1 and s.minute < $2::timestamptz
 group by 1
union all
select -1, 0, (select min(m.minute) from mdm.aa_stat_minute m)`,
)
