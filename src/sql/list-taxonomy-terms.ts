import { statement } from './statement.ts'
import { taxonomyTermRowColumns, type TaxonomyTermRow } from './taxonomy-term-row.ts'

export const listTaxonomyTerms = statement<[tenantIds: readonly string[] | null], TaxonomyTermRow>(
  'list_taxonomy_terms',
  `-- reads terms with their rules, in order of their paths; null: of every tenant
select ${taxonomyTermRowColumns}
  from mdm.taxonomy_term t
 where $1::uuid[] is null or t.tenant_id = any ($1)
 order by t.path, t.id
 limit 10000`,
)
