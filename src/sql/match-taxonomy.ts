import type { DocumentLanguage } from '../jobs/detect-language.ts'
import { taxonomyMatches, type MatchedTerm } from './taxonomy-parts.ts'
import { statement } from './statement.ts'

type Params = [
  tenantId: string,
  language: DocumentLanguage | null,
  content: string,
  title: string | null,
  filename: string,
  /** Rules that are left out. */
  without: readonly string[],
]

export const matchTaxonomy = statement<Params, MatchedTerm>(
  'match_taxonomy',
  `-- reads which terms a tenant's rules give to a text: all rules in one go, the best rule of each term, the best term of each exclusive group
${taxonomyMatches('not (r.id = any ($6::uuid[]))')},
best as (select distinct on (term_id) rule_id, term_id, score from matched where score is not null order by term_id, score desc, rule_id),
ranked as (
  select b.*, t.path, t.exclusive_group,
         row_number() over (partition by coalesce(t.exclusive_group, t.id::text) order by b.score desc, t.path) as place
    from best b join mdm.taxonomy_term t on t.id = b.term_id)
select rule_id as "ruleId", term_id as "termId", path, score from ranked where place = 1 order by path`,
)
