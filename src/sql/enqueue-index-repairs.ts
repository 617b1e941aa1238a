import { indexHash } from './entity-index-parts.ts'
import { statement } from './statement.ts'

/** No attribute has this id: its job drops what belongs to no attribute. */
const nobody = `'00000000-0000-0000-0000-000000000000'`

export const enqueueIndexRepairs = statement<[actor: string], { jobs: number }>(
  'enqueue_index_repairs',
  `-- (nothing) -> pending: jobs for indexes that broken-off builds left behind, and for those said to be on their way whose job is gone
with broken as (
  select c.relname as name, i.indisvalid as valid, pg_get_expr(i.indpred, i.indrelid) as predicate, substring(c.relname from '_([0-9a-f]{8})(?:_new)?$') as hash
    from pg_index i join pg_class c on c.oid = i.indexrelid
   where i.indrelid = 'mdm.ddm_entity'::regclass and c.relname ~ '^ix_entity_'),
suspects as materialized (
  select 'index_sync' as kind, t.tenant_id, 'attribute_id' as field, a.id
    from mdm.ddm_entity_type_attribute a join mdm.ddm_entity_type t on t.id = a.entity_type_id
   where a.index_status in ('pending', 'building')
      or exists (select from broken b where not b.valid and b.name like 'ix\\_entity\\_attr\\_%' and b.hash in (${indexHash('a.id', 'sort')}, ${indexHash('a.id', 'contains')}))
   union
  select 'index_sync', (select id from mdm.aa_tenant where tenant_key = 'platform'), 'attribute_id', ${nobody}::uuid
    from broken b
   where b.name like 'ix\\_entity\\_attr\\_%' and b.hash is not null
     and not exists (select from mdm.ddm_entity_type_attribute a where b.hash in (${indexHash('a.id', 'sort')}, ${indexHash('a.id', 'contains')}))
   union
  select 'gin_backfill', t.tenant_id, 'entity_type_id', t.id
    from mdm.ddm_entity_type t
   where t.gin_index_status in ('pending', 'building')
      or exists (select from broken b where not b.valid and b.name ~ '^ix_entity_(attributes_gin|gin_new)_' and b.predicate = format('(entity_type_id = %L::uuid)', t.id))),
open as materialized (
  select j.job_kind as kind, j.payload from mdm.aa_job j
   where exists (select from suspects) and j.lane = 0 and j.job_kind in ('index_sync', 'gin_backfill')
   union all
  select j.job_kind, j.payload from mdm.aa_job j
   where exists (select from suspects) and j.lane = 1 and j.job_kind in ('index_sync', 'gin_backfill')
   union all
  select j.job_kind, j.payload
    from mdm.aa_claim c cross join lateral unnest(c.job_ids) h(id) join mdm.aa_job j on j.id = h.id
   where exists (select from suspects) and j.status = 'running' and j.job_kind in ('index_sync', 'gin_backfill')),
forgotten as (
  select s.* from suspects s join mdm.aa_tenant t on t.id = s.tenant_id and t.status = 'active'
   where not exists (
     select from open o where o.kind = s.kind
        and (o.payload ->> s.field = s.id::text
             or o.payload ->> 'type_key' = (select e.type_key from mdm.ddm_entity_type e where s.kind = 'gin_backfill' and e.id = s.id)))),
gathered as (
  select array_agg(tenant_id) as tenants, array_agg(kind) as kinds, array_agg(jsonb_build_object(field, id)::text) as payloads from forgotten)
select count(e.job_id)::int as jobs
  from gathered g
 cross join lateral mdm.enqueue_batch(g.tenants, g.kinds, g.payloads, '{}', '{}', '{}', '{}', '{}', '{}', $1::text, null) e
 where g.tenants is not null`,
)
