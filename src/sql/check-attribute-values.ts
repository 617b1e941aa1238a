import { statement } from './statement.ts'

export const checkAttributeValues = statement<[values: readonly string[], types: readonly string[]], { fits: boolean }>(
  'check_attribute_values',
  `-- whether texts are values of data types, as the attributes' indexes see them; in their order
select mdm.attr_fits(g.v, g.data_type) as fits
  from unnest($1::text[], $2::text[]) with ordinality g(v, data_type, n)
 order by g.n`,
)
