import { statement } from './statement.ts'
import { suppressionRowColumns, type SuppressionRow } from './suppression-row.ts'

type Params = [
  /** Null: for every tenant. */
  tenantId: string | null,
  address: string,
  reason: string,
  note: string | null,
  actor: string,
  requestId: string,
]

export const addSuppression = statement<Params, SuppressionRow>(
  'add_suppression',
  `-- puts an address on the list for every sort of email; by the unique index on (tenant, address, category). Who stands there already gets the new reason
with target as (select coalesce($1::uuid, (select id from mdm.aa_tenant where tenant_key = 'platform')) as tenant_id),
added as (
  insert into mdm.aa_email_suppression as s (tenant_id, address, reason, note, created_by)
  select tenant_id, lower($2), $3, $4, $5 from target
  on conflict (tenant_id, address, category) do update
     set reason = excluded.reason, note = excluded.note, created_by = excluded.created_by, expires_at = null
  returning s.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select tenant_id, 'suppression_add', $5, $6, jsonb_strip_nulls(jsonb_build_object('suppression_id', id, 'address', address, 'reason', reason, 'note', note))
    from added)
select ${suppressionRowColumns} from added s`,
)
