import { statement } from './statement.ts'

export const setDocumentField = statement<[documentId: string, field: string, valueJson: string], never>(
  'set_document_field',
  `-- a workflow sets a field of its own
update mdm.documents set fields = fields || jsonb_build_object($2::text, $3::jsonb) where id = $1::uuid`,
)
