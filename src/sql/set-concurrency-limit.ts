import { statement } from './statement.ts'

/** Sets, changes or takes away (max null) the cap of a kind, a tenant or both. */
export const setConcurrencyLimit = statement<
  [kind: string | null, tenantId: string | null, max: number | null, actor: string, requestId: string],
  never
>(
  'set_concurrency_limit',
  `-- one row a (kind, tenant); by the unique index aa_concurrency_limit_one
with before as materialized (
  select c.max from mdm.aa_concurrency_limit c where c.job_kind is not distinct from $1::text and c.tenant_id is not distinct from $2::uuid),
gone as (
  delete from mdm.aa_concurrency_limit c
   where $3::int is null and c.job_kind is not distinct from $1::text and c.tenant_id is not distinct from $2::uuid),
set as (
  insert into mdm.aa_concurrency_limit (job_kind, tenant_id, max)
  select $1::text, $2::uuid, $3::int where $3::int is not null
  on conflict on constraint aa_concurrency_limit_one do update set max = excluded.max)
insert into mdm.aa_audit_log (tenant_id, action, job_kind, actor_principal_id, request_id, payload)
values (coalesce($2::uuid, (select t.id from mdm.aa_tenant t where t.tenant_key = 'platform')), 'concurrency_limit_set', $1::text, $4::text, $5::text,
        jsonb_build_object('kind', $1::text, 'tenant', $2::uuid, 'from', (select max from before), 'to', $3::int))`,
)
