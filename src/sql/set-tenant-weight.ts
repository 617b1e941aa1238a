import { tenantRowColumns, type TenantRow } from './read-tenants.ts'
import { statement } from './statement.ts'

/** Sets a tenant's share in round-robin. No row: there is no such tenant. */
export const setTenantWeight = statement<
  [tenantId: string, weight: number, actor: string, requestId: string],
  TenantRow
>(
  'set_tenant_weight',
  `-- changes metadata.weight of a tenant; by the primary key
with before as materialized (
  select t.id, t.metadata -> 'weight' as weight from mdm.aa_tenant t where t.id = $1::uuid for update),
changed as (
  update mdm.aa_tenant t
     set metadata = t.metadata || jsonb_build_object('weight', $2::int)
    from before
   where t.id = before.id
  returning t.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select b.id, 'tenant_change', $3::text, $4::text, jsonb_build_object('change', 'weight', 'from', b.weight, 'to', $2::int)
    from before b)
select ${tenantRowColumns} from changed t`,
)
