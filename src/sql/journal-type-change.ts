import { statement } from './statement.ts'

export const journalTypeChange = statement<
  [typeId: string, actor: string, requestId: string, reason: string | null, payload: string],
  never
>(
  'journal_type_change',
  `-- writes into the audit log that a person changed a type; in the transaction of the change
insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, reason, payload)
select t.tenant_id, 'metadata_change', $2::text, $3::text, $4::text, jsonb_build_object('entity_type_id', t.id, 'key', t.type_key) || $5::jsonb
  from mdm.ddm_entity_type t where t.id = $1::uuid`,
)
