import { statement } from './statement.ts'

interface CommittedBatch {
  /** Rows that were taken up. */
  readonly picked: number
  readonly committed: number
  /** Bad rows of the import so far. */
  readonly invalidRows: number
  readonly firstRow: number | null
  readonly lastRow: number | null
  /** Entities that were made or changed, or are as the file says already. */
  readonly entityIds: readonly string[]
}

export const commitImportRows = statement<[importId: string, limit: number], CommittedBatch>(
  'commit_import_rows',
  `-- valid -> committed, each with its entity, the next rows in order of the file, by aa_import_row_open; the import is held. A key that somebody else took meanwhile:
-- with insert the row is invalid, with upsert it stays valid and the next batch finds the entity. Entities are looked for one by one, and whether a row was
-- found or made is asked by hashed subplans: as long as the tables are new to the planner, its joins let a thousand rows meet a thousand, or a type's million
with import as materialized (
  select i.id, i.tenant_id, i.entity_type_id, i.options ->> 'mode' as mode from mdm.aa_import_job i where i.id = $1::uuid),
picked as materialized (
  select r.row_no, r.entity_id, r.external_key, r.attributes
    from mdm.aa_import_row r
   where r.import_job_id = $1 and r.status = 'valid'
   order by r.row_no
   limit $2::int
     for update),
-- In order of the key, as everybody who changes many, so that two imports cannot deadlock.
kept as materialized (
  select e.id, p.row_no, p.attributes
    from (select * from picked order by external_key offset 0) p
   cross join import i
   cross join lateral (
     select o.id from mdm.ddm_entity o
      where i.mode <> 'insert' and o.tenant_id = i.tenant_id and o.entity_type_id = i.entity_type_id and o.external_key = p.external_key
        for no key update) e),
updated as (
  update mdm.ddm_entity e
     set attributes = mdm.apply_attributes(e.attributes, k.attributes), import_job_id = $1
    from kept k
   where e.id = k.id and e.attributes is distinct from mdm.apply_attributes(e.attributes, k.attributes)),
inserted as (
  insert into mdm.ddm_entity (id, tenant_id, entity_type_id, external_key, attributes, import_job_id)
  select p.entity_id, i.tenant_id, i.entity_type_id, p.external_key, mdm.apply_attributes('{}', p.attributes), $1
    from picked p
   cross join import i
   where i.mode <> 'update' and p.row_no not in (select k.row_no from kept k)
   order by p.external_key, p.row_no
  on conflict do nothing
  returning id),
settled as (
  update mdm.aa_import_row r
     set status = case when p.found or p.made then 'committed' else 'invalid' end,
         entity_id = case when p.found then (select e.id from mdm.ddm_entity e where e.tenant_id = i.tenant_id and e.entity_type_id = i.entity_type_id and e.external_key = p.external_key)
                          else r.entity_id end,
         errors = case when not (p.found or p.made)
                       then jsonb_build_array(jsonb_build_object('code', case i.mode when 'insert' then 'key_exists' else 'key_not_found' end, 'value', left(p.external_key, 100))) end
    from (
      select p.row_no, p.external_key, p.entity_id in (select n.id from inserted n) as made, p.row_no in (select k.row_no from kept k) as found from picked p offset 0) p
   cross join import i
   where r.import_job_id = $1 and r.row_no = p.row_no and (p.found or p.made or i.mode <> 'upsert')
  returning r.row_no, r.status, r.entity_id),
counted as (
  select count(*) filter (where status = 'committed')::int as committed, count(*) filter (where status = 'invalid')::int as invalid,
         min(row_no) as first_row, max(row_no) as last_row,
         coalesce(array_agg(entity_id order by row_no) filter (where status = 'committed'), '{}') as entity_ids
    from settled)
update mdm.aa_import_job j
   set committed_rows = j.committed_rows + c.committed, invalid_rows = j.invalid_rows + c.invalid, valid_rows = j.valid_rows - c.invalid
  from counted c
 where j.id = $1
returning (select count(*)::int from picked) as picked, c.committed, j.invalid_rows as "invalidRows", c.first_row as "firstRow", c.last_row as "lastRow", c.entity_ids as "entityIds"`,
)
