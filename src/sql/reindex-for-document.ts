import { statement } from './statement.ts'

export const reindexForDocument = statement<[documentId: string, type: string], { id: string }>(
  'reindex_for_document',
  `-- a workflow asks for the search vectors of an entity type of the same tenant, by key; the job reindex comes by the type's trigger. No row: there is no such type
update mdm.ddm_entity_type e
   set search_version = e.search_version + 1
  from mdm.documents d
 where d.id = $1::uuid and e.tenant_id = d.tenant_id and e.type_key = $2
returning e.id`,
)
