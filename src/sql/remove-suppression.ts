import { statement } from './statement.ts'
import { suppressionRowColumns, type SuppressionRow } from './suppression-row.ts'

type Params = [id: string, tenantIds: readonly string[] | null, reason: string | null, actor: string, requestId: string]

export const removeSuppression = statement<Params, SuppressionRow>(
  'remove_suppression',
  `-- takes an address off the list, by the primary key; $2 = the caller's tenants, null: all
with removed as (
  delete from mdm.aa_email_suppression where id = $1 and ($2::uuid[] is null or tenant_id = any ($2)) returning *),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, reason, request_id, payload)
  select tenant_id, 'suppression_remove', $4, $3, $5, jsonb_build_object('suppression_id', id, 'address', address, 'reason', reason)
    from removed)
select ${suppressionRowColumns} from removed s`,
)
