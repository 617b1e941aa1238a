import { statement } from './statement.ts'

export const raiseSearchVersion = statement<[typeId: string], { searchVersion: number }>(
  'raise_search_version',
  `-- gives a type the next search version, so that a reindex takes all of its entities; by the primary key
update mdm.ddm_entity_type set search_version = search_version + 1 where id = $1::uuid
returning search_version as "searchVersion"`,
)
