import { statement } from './statement.ts'

export const commitAttachment = statement<[id: string, sizeBytes: number, etag: string], { scans: number }>(
  'commit_attachment',
  `-- pending_upload -> committed, waiting for its scan; no row: it is no longer pending
update mdm.ddm_attachment
   set upload_status = 'committed', size_bytes = $2, etag = $3, virus_scan_status = 'pending', scans = scans + 1
 where id = $1 and upload_status = 'pending_upload'
returning scans`,
)
