import { statement } from './statement.ts'

export const listRegexRules = statement<[tenantId: string], { id: string; field: string; path: string }>(
  'list_regex_rules',
  `-- reads the rules of a tenant that are regular expressions
select r.id, r.field, t.path
  from mdm.taxonomy_rule r join mdm.taxonomy_term t on t.id = r.term_id
 where r.tenant_id = $1::uuid and r.enabled and r.match_type = 'regex'
 order by r.id`,
)
