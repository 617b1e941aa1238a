import { tenantRowColumns, type TenantRow } from './read-tenants.ts'
import { statement } from './statement.ts'

/** Sets a tenant's own limit for a kind, or takes it away. No row: there is no such tenant. */
export const setRateLimit = statement<
  [
    tenantId: string,
    kind: string,
    /** JSON of {rps, burst}; null: back to the kind's. */ limit: string | null,
    actor: string,
    requestId: string,
  ],
  TenantRow
>(
  'set_rate_limit',
  `-- changes metadata.rate_limit.<kind> of a tenant; by the primary key
with before as materialized (
  select t.id, t.metadata #> array['rate_limit', $2::text] as own from mdm.aa_tenant t where t.id = $1::uuid for update),
changed as (
  update mdm.aa_tenant t
     set metadata = case when $3::jsonb is null then t.metadata #- array['rate_limit', $2::text]
                         else jsonb_set(t.metadata, '{rate_limit}', coalesce(t.metadata -> 'rate_limit', '{}') || jsonb_build_object($2::text, $3::jsonb)) end
    from before
   where t.id = before.id
  returning t.*),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, job_kind, actor_principal_id, request_id, payload)
  select b.id, 'rate_limit_set', $2::text, $4::text, $5::text, jsonb_build_object('kind', $2::text, 'from', b.own, 'to', $3::jsonb)
    from before b)
select ${tenantRowColumns} from changed t`,
)
