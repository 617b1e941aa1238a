import { statement } from './statement.ts'

export const validateImportRows = statement<
  [importId: string, limit: number],
  { validated: number; invalidRows: number }
>(
  'validate_import_rows',
  `-- staged -> valid or invalid, the next rows in order of the file, by aa_import_row_open; the import is held. A value fits if the index of its attribute could hold it.
-- Each offset 0 keeps what is below it from being computed once for every place where it is used: half of the time
with import as materialized (
  select i.id, i.tenant_id, i.entity_type_id, i.options ->> 'mode' as mode, i.columns from mdm.aa_import_job i where i.id = $1::uuid),
attribute as materialized (
  select a.attr_key, a.data_type, a.required, i.columns ->> a.attr_key as name, i.mode
    from import i join mdm.ddm_entity_type_attribute a on a.entity_type_id = i.entity_type_id
   where i.columns ? a.attr_key or a.required and i.mode <> 'update'),
batch as materialized (
  select r.row_no, r.raw, r.external_key
    from mdm.aa_import_row r
   where r.import_job_id = $1 and r.status = 'staged'
   order by r.row_no
   limit $2::int
     for update),
judged as (
  select b.row_no, b.external_key, v.attributes, coalesce(v.errors, '[]') || case when k.code is null then '[]' else
         jsonb_build_array(jsonb_strip_nulls(jsonb_build_object('code', k.code, 'value', left(b.external_key, 100)))) end as errors
    from batch b
   cross join import i
   cross join lateral (
     select jsonb_object_agg(c.attr_key, coalesce(c.typed, 'null')) filter (where c.typed is not null or c.given and c.mode <> 'insert') as attributes,
            jsonb_agg(jsonb_build_object('attr', c.attr_key, 'code', c.code) || case when c.value is null then '{}' else jsonb_build_object('value', left(c.value, 100)) end
                      order by c.attr_key) filter (where c.code is not null) as errors
       from (
         select t.*, case when t.value is null then case when t.required and (t.given or t.mode <> 'update') then 'required' end
                          when t.typed is null then 'invalid_' || t.data_type end as code
           from (
             select a.attr_key, a.data_type, a.required, a.mode, s.given, s.value,
                    case when s.value is null or s.sort in ('object', 'array') then null
                         when a.data_type = 'text' then to_jsonb(s.value)
                         -- An exponent of four digits would become thousands of digits.
                         when a.data_type = 'number' then case when s.value !~* 'e[+-]?0*[1-9][0-9]{3}' then to_jsonb(mdm.attr_number(s.value)) end
                         when a.data_type = 'boolean' then to_jsonb(mdm.attr_boolean(s.value))
                         when mdm.attr_fits(s.value, a.data_type) then to_jsonb(s.value)
                    end as typed
               from attribute a
              cross join lateral (
                select coalesce(b.raw ? a.name, false) as given, jsonb_typeof(b.raw -> a.name) as sort,
                       case when a.data_type = 'text' then nullif(b.raw ->> a.name, '') else nullif(btrim(b.raw ->> a.name), '') end as value
                offset 0) s
             offset 0) t
         offset 0) c) v
   cross join lateral (
     select case when b.external_key is null then case when i.mode <> 'insert' then 'key_missing' end
                 when exists (select from mdm.aa_import_row e where e.import_job_id = $1 and e.external_key = b.external_key and e.row_no < b.row_no) then 'duplicate_key'
                 when i.mode = 'upsert' then null
                 when exists (select from mdm.ddm_entity e where e.tenant_id = i.tenant_id and e.entity_type_id = i.entity_type_id and e.external_key = b.external_key)
                   then case i.mode when 'insert' then 'key_exists' end
                 else case i.mode when 'update' then 'key_not_found' end
            end as code
     offset 0) k),
validated as (
  update mdm.aa_import_row r
     set status = case when j.errors = '[]' then 'valid' else 'invalid' end,
         attributes = case when j.errors = '[]' then coalesce(j.attributes, '{}') end,
         errors = case when j.errors <> '[]' then jsonb_path_query_array(j.errors, '$[0 to 9]') end
    from judged j
   where r.import_job_id = $1 and r.row_no = j.row_no
  returning r.status)
update mdm.aa_import_job i
   set validated_rows = i.validated_rows + n.validated, valid_rows = i.valid_rows + n.validated - n.invalid, invalid_rows = i.invalid_rows + n.invalid
  from (select count(*)::int as validated, count(*) filter (where status = 'invalid')::int as invalid from validated) n
 where i.id = $1
returning n.validated, i.invalid_rows as "invalidRows"`,
)
