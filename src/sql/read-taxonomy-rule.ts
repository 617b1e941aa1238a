import { statement } from './statement.ts'
import type { TaxonomyRuleRow } from './taxonomy-rule-row.ts'

export const readTaxonomyRule = statement<[id: string, tenantIds: readonly string[] | null], TaxonomyRuleRow>(
  'read_taxonomy_rule',
  `-- reads one rule by primary key; $2 = the caller's tenants, null: all
select r.id, r.match_type as match, r.pattern, r.enabled
  from mdm.taxonomy_rule r
 where r.id = $1::uuid and ($2::uuid[] is null or r.tenant_id = any ($2))`,
)
