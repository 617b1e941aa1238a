import { statement } from './statement.ts'

export const forgetImportUpload = statement<[id: string], never>(
  'forget_import_upload',
  `-- the object belongs to an import, or is gone
delete from mdm.aa_import_upload where id = $1::uuid`,
)
