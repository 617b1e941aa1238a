import { tenantRowColumns, type TenantRow } from './read-tenants.ts'
import { statement } from './statement.ts'

/** Opens or closes a tenant; what it has stays its own. One that is so already is answered without a journal row. No row: there is none. */
export const setTenantActive = statement<
  [tenantId: string, active: boolean, actor: string, reason: string | null, requestId: string],
  TenantRow
>(
  'set_tenant_active',
  `-- active <-> closed; by the primary key
with before as materialized (
  select t.id, t.status from mdm.aa_tenant t where t.id = $1::uuid for update),
changed as (
  update mdm.aa_tenant t
     set status = case when $2::boolean then 'active' else 'closed' end
    from before
   where t.id = before.id
  returning t.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, reason, request_id, payload)
  select c.id, 'tenant_change', $3::text, $4::text, $5::text, jsonb_build_object('change', case when $2::boolean then 'opened' else 'closed' end)
    from changed c join before b on b.id = c.id
   where b.status <> c.status)
select ${tenantRowColumns} from changed t`,
)
