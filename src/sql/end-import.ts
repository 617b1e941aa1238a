import { statement } from './statement.ts'

type Params = [
  importId: string,
  status: 'validated' | 'done' | 'failed',
  /** JSON; null: nothing went wrong. */
  error: string | null,
  resultKey: string | null,
  jobId: string,
]

export const endImport = statement<Params, { id: string }>(
  'end_import',
  `-- ends an import or its dry run, in the transaction in which its job becomes done; one that was cancelled meanwhile stays so
with ended as (
  update mdm.aa_import_job i
     set status = $2::text, error = $3::jsonb, result_key = $4::text, finished_at = case when $2 <> 'validated' then now() end,
         upload_key = case when $2 <> 'failed' then i.upload_key end
   where i.id = $1::uuid and i.status in ('uploaded', 'staging', 'validating', 'committing')
  returning i.*),
journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, attempt, worker, job_kind, payload)
  select j.id, e.tenant_id, 'import_done', j.runs, (select w.id from mdm.aa_worker w where w.name = j.claimed_by), j.job_kind,
         jsonb_build_object('import_id', e.id, 'status', e.status, 'total_rows', e.total_rows, 'committed_rows', e.committed_rows, 'invalid_rows', e.invalid_rows)
    from ended e join mdm.aa_job j on j.id = $5::uuid
   where e.status <> 'validated')
select e.id, mdm.publish_event(e.tenant_id, case e.status when 'done' then 'import.completed' else 'import.' || e.status end, 'import', e.id::text,
         jsonb_build_object('import_id', e.id, 'entity_type_id', e.entity_type_id, 'status', e.status, 'total_rows', e.total_rows, 'committed_rows', e.committed_rows,
                            'invalid_rows', e.invalid_rows, 'error', e.error ->> 'message', 'warning', e.warning), false)
  from ended e`,
)
