import { attachmentRowColumns, type AttachmentRow } from './attachment-row.ts'
import { statement } from './statement.ts'

export const readAttachments = statement<[ids: readonly string[], tenantIds: readonly string[] | null], AttachmentRow>(
  'read_attachments',
  `-- reads attachments by id, by the primary key; $2 = the caller's tenants, null: all
select ${attachmentRowColumns}
  from mdm.ddm_attachment a
 where a.id = any ($1::uuid[]) and ($2::uuid[] is null or a.tenant_id = any ($2))`,
)
