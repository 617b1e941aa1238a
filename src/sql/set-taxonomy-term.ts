import { statement } from './statement.ts'

type Params = [
  tenantId: string,
  path: string,
  name: string,
  /** [{"match", "pattern", "enabled"}] */
  rulesJson: string,
  actor: string,
  requestId: string,
]

export const setTaxonomyTerm = statement<Params, { id: string }>(
  'set_taxonomy_term',
  `-- makes a term or changes it, by the unique index on tenant and path; its rules become those given, equal ones stay the same rows
with term as (
  insert into mdm.taxonomy_term as t (tenant_id, path, name) values ($1::uuid, $2, $3)
  on conflict (tenant_id, path) do update set name = excluded.name
  returning t.id, t.tenant_id, t.path),
given as (
  select distinct on (g.match, g.pattern) g.match, g.pattern, g.enabled
    from rows from (jsonb_to_recordset($4::jsonb) as (match text, pattern text, enabled boolean)) with ordinality g(match, pattern, enabled, ord)
   order by g.match, g.pattern, g.ord),
dropped as (
  delete from mdm.taxonomy_rule r using term
   where r.term_id = term.id and r.field = 'content'
     and not exists (select from given g where g.match = r.match_type and g.pattern = r.pattern)),
changed as (
  update mdm.taxonomy_rule r set enabled = g.enabled from term, given g
   where r.term_id = term.id and r.field = 'content' and g.match = r.match_type and g.pattern = r.pattern and r.enabled <> g.enabled),
added as (
  insert into mdm.taxonomy_rule (tenant_id, term_id, match_type, pattern, enabled)
  select term.tenant_id, term.id, g.match, g.pattern, g.enabled
    from term, given g
   where not exists (select from mdm.taxonomy_rule r
                      where r.term_id = term.id and r.field = 'content' and g.match = r.match_type and g.pattern = r.pattern)),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, request_id, payload)
  select tenant_id, 'metadata_change', $5, $6, jsonb_build_object('taxonomy_term_id', id, 'path', path, 'rules', jsonb_array_length($4::jsonb)) from term)
select id from term`,
)
