import { statement } from './statement.ts'

type Params = [
  tenantId: string,
  importId: string,
  perEntity: boolean,
  entityIds: readonly string[],
  firstRow: number | null,
  lastRow: number | null,
]

export const publishImportEvents = statement<Params, { published: number }>(
  'publish_import_events',
  `-- tells of the entities of a batch, in its transaction: of each, or of all at once
select count(*)::int as published
  from (
    select mdm.publish_event($1::uuid, 'entity.imported', 'entity', e.id::text, jsonb_build_object('entity_id', e.id, 'import_id', $2::uuid), false)
      from unnest($4::uuid[]) e(id) where $3::boolean
     union all
    select mdm.publish_event($1, 'entities.imported', 'import', $2::text, jsonb_build_object('import_id', $2, 'count', cardinality($4), 'first_row', $5::int, 'last_row', $6::int), false)
     where not $3 and cardinality($4) > 0) p`,
)
