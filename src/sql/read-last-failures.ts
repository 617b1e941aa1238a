import { statement } from './statement.ts'

export interface LastFailure {
  readonly jobId: string
  readonly at: Date
  /** Stack and causes, if the row keeps them. */
  readonly detail: string | null
}

export const readLastFailures = statement<
  [jobIds: readonly string[], tenantIds: readonly string[] | null],
  LastFailure
>(
  'read_last_failures',
  `-- reads when jobs failed last, on aa_audit_log_job
select j.id as "jobId", f.at, f.detail
  from unnest($1::uuid[]) j(id)
 cross join lateral (
   select a.at, a.payload ->> 'detail' as detail
     from mdm.aa_audit_log a
    where a.job_id = j.id and a.payload ? 'last_error'
      and ($2::uuid[] is null or a.tenant_id = any ($2))
    order by a.revision desc
    limit 1) f`,
)
