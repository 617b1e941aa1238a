import { statement } from './statement.ts'
import { taxonomyTermRowColumns, type TaxonomyTermRow } from './taxonomy-term-row.ts'

export const readTaxonomyTerms = statement<
  [ids: readonly string[], tenantIds: readonly string[] | null],
  TaxonomyTermRow
>(
  'read_taxonomy_terms',
  `-- reads terms with their rules by primary key; $2 = the caller's tenants, null: all
select ${taxonomyTermRowColumns}
  from mdm.taxonomy_term t
 where t.id = any ($1::uuid[]) and ($2::uuid[] is null or t.tenant_id = any ($2))`,
)
