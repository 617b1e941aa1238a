import { statement } from './statement.ts'

export const recordRemovals = statement<[store: string, objectKeys: readonly string[]], never>(
  'record_removals',
  `-- these objects are removed
delete from mdm.aa_object_removal where store = $1 and object_key = any ($2::text[])`,
)
