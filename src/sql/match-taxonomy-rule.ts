import { statement } from './statement.ts'

export const matchTaxonomyRule = statement<[ruleId: string, content: string], { matches: boolean | null }>(
  'match_taxonomy_rule',
  `-- reads whether one regular expression takes a text, to find the one that takes too long; null: it is none
select mdm.matches_pattern(left($2, 1000000), r.pattern) as matches from mdm.taxonomy_rule r where r.id = $1::uuid`,
)
