export type TaxonomyMatch = 'any' | 'all' | 'exact' | 'regex' | 'fuzzy'

/** A rule of the taxonomy. */
export interface TaxonomyRuleRow {
  readonly id: string
  readonly match: TaxonomyMatch
  readonly pattern: string
  readonly enabled: boolean
}
