import { statement } from './statement.ts'

export const findTaxonomyTerms = statement<[tenantId: string, paths: readonly string[]], { id: string; path: string }>(
  'find_taxonomy_terms',
  `-- reads a tenant's terms by path, on their unique index
select t.id, t.path from mdm.taxonomy_term t where t.tenant_id = $1::uuid and t.path = any ($2::text[])`,
)
