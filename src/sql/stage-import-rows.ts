import { statement } from './statement.ts'

type Params = [
  importId: string,
  rowNos: readonly number[],
  /** JSON objects. */
  raws: readonly string[],
  externalKeys: readonly (string | null)[],
  /** JSON lists; null: nothing is wrong so far. */
  errors: readonly (string | null)[],
]

export const stageImportRows = statement<Params, { staged: number }>(
  'stage_import_rows',
  `-- reads rows in, those that are there already are left alone; in the import's own transaction, counted in it
with given as (
  select g.row_no, g.external_key, g.errors, g.raw, pg_input_is_valid(g.raw, 'jsonb') as storable
    from unnest($2::int[], $3::text[], $4::text[], $5::text[]) g(row_no, raw, external_key, errors)),
staged as (
  insert into mdm.aa_import_row (import_job_id, row_no, raw, external_key, status, errors)
  select $1::uuid, row_no, case when storable then raw::jsonb else jsonb_build_object('line', left(raw, 1000)) end, external_key,
         case when storable and errors is null then 'staged' else 'invalid' end,
         case when storable then errors::jsonb else '[{"code": "not_an_object"}]' end
    from given
   order by row_no
  on conflict do nothing
  returning status)
update mdm.aa_import_job i
   set staged_rows = i.staged_rows + s.staged, validated_rows = i.validated_rows + s.bad, invalid_rows = i.invalid_rows + s.bad
  from (select count(*)::int as staged, count(*) filter (where status = 'invalid')::int as bad from staged) s
 where i.id = $1
returning s.staged`,
)
