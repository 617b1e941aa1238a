import { statement } from './statement.ts'

export const beginImportUpload = statement<[objectStore: string], { id: string; key: string }>(
  'begin_import_upload',
  `-- says that an object is coming before its first byte is stored; the id, which the import will have, is in order of time
insert into mdm.aa_import_upload (id, object_store, object_key)
select u.id, $1, 'imports/' || u.id || '/file' from (select mdm.uuid_v7() as id offset 0) u
returning id, object_key as key`,
)
