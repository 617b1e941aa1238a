import { statement } from './statement.ts'

interface BadValues {
  readonly bad: number
  /** Some of the entities. */
  readonly sample: readonly string[]
  /** How many of which JSON type; entities without the attribute are missing here. */
  readonly jsonTypes: Readonly<Record<string, number>>
}

export const findBadValues = statement<[tenantId: string, typeId: string, key: string, dataType: string], BadValues>(
  'find_bad_values',
  `-- counts the values of an attribute that are not of its data type, over the entities of its type by ddm_entity_of_type
with looked as (
  select e.id, jsonb_typeof(e.attributes -> $3) as json_type, e.attributes ->> $3 as v
    from mdm.ddm_entity e
   where e.tenant_id = $1::uuid and e.entity_type_id = $2::uuid and e.attributes ? $3),
bad as materialized (select id from looked where not mdm.attr_fits(v, $4))
select (select count(*) from bad)::float8 as bad, array(select id::text from bad order by id limit 5) as sample,
       (select coalesce(jsonb_object_agg(json_type, n), '{}') from (select json_type, count(*) as n from looked group by json_type) h) as "jsonTypes"`,
)
