import { pauseRowColumns, type PauseRow } from './pause-row.ts'
import { statement } from './statement.ts'

/** Ends a pause that is in force; no row: there is none of exactly this kind and tenant. */
export const resumeQueue = statement<
  [kind: string | null, tenantId: string | null, actor: string, requestId: string],
  PauseRow
>(
  'resume_queue',
  `-- a pause -> (none); by the unique index aa_queue_pause_one
with resumed as (
  delete from mdm.aa_queue_pause p
   where p.job_kind is not distinct from $1::text and p.tenant_id is not distinct from $2::uuid and (p.until is null or p.until > now())
  returning p.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, job_kind, actor_principal_id, request_id, payload)
  select coalesce(p.tenant_id, (select t.id from mdm.aa_tenant t where t.tenant_key = 'platform')), 'queue_resume', p.job_kind, $3::text, $4::text,
         jsonb_build_object('pause', p.id, 'kind', p.job_kind, 'tenant', p.tenant_id, 'since', p.since)
    from resumed p)
select ${pauseRowColumns} from resumed p`,
)
