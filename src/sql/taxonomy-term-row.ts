import type { TaxonomyRuleRow } from './taxonomy-rule-row.ts'

/** A term with its rules. */
export interface TaxonomyTermRow {
  readonly id: string
  readonly tenantId: string
  readonly path: string
  readonly name: string
  readonly rules: readonly TaxonomyRuleRow[]
}

/** The select list that makes a TaxonomyTermRow of the alias `t`. */
export const taxonomyTermRowColumns = `t.id, t.tenant_id as "tenantId", t.path, t.name,
       (select coalesce(jsonb_agg(jsonb_build_object('id', r.id, 'match', r.match_type, 'pattern', r.pattern, 'enabled', r.enabled) order by r.id), '[]')
          from mdm.taxonomy_rule r where r.term_id = t.id) as rules`
