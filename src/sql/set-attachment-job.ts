import { attachmentRowColumns, type AttachmentRow } from './attachment-row.ts'
import { statement } from './statement.ts'

export const setAttachmentJob = statement<[id: string, jobId: string], AttachmentRow>(
  'set_attachment_job',
  `-- pending stays pending: from here on the status follows this job
update mdm.ddm_attachment a set job_id = $2
 where a.id = $1 and a.virus_scan_status = 'pending'
returning ${attachmentRowColumns}`,
)
