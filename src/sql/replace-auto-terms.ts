import { statement } from './statement.ts'

type Params = [documentId: string, termIds: readonly string[], ruleIds: readonly string[], scores: readonly number[]]

export const replaceAutoTerms = statement<Params, never>(
  'replace_auto_terms',
  `-- the terms that rules give to a document, in place of those they gave before; what a person or a workflow gave or took away stands
with given as (
  select g.term_id, g.rule_id, g.score
    from unnest($2::uuid[], $3::uuid[], $4::real[]) g(term_id, rule_id, score)
    join mdm.taxonomy_term t on t.id = g.term_id
    join mdm.taxonomy_rule r on r.id = g.rule_id
   where not exists (select from mdm.document_workflow_run w where w.document_id = $1::uuid and w.result -> 'removedTerms' ? t.path)),
dropped as (
  delete from mdm.document_term d
   where d.document_id = $1::uuid and d.source = 'auto' and not exists (select from given g where g.term_id = d.term_id))
insert into mdm.document_term as d (document_id, term_id, rule_id, score, source)
select $1::uuid, term_id, rule_id, score, 'auto' from given
on conflict (document_id, term_id) do update set rule_id = excluded.rule_id, score = excluded.score where d.source = 'auto'`,
)
