import { indexSignature } from './entity-index-parts.ts'
import { statement } from './statement.ts'

export const readIndexSignature = statement<[name: string], { signature: string }>(
  'read_index_signature',
  `-- reads from the catalogue what an index is
select ${indexSignature} as signature
  from pg_index i join pg_class c on c.oid = i.indexrelid
 where i.indexrelid = to_regclass($1::text)`,
)
