import { statement } from './statement.ts'

export const restartScan = statement<[id: string], { etag: string; scans: number }>(
  'restart_scan',
  `-- clean, infected, unscannable, error -> pending: locked until it is judged again; no row: its scan is under way, or there are no bytes
update mdm.ddm_attachment
   set virus_scan_status = 'pending', virus_signature = null, scan_error = null, scans = scans + 1
 where id = $1 and upload_status = 'committed' and virus_scan_status in ('clean', 'infected', 'unscannable', 'error')
returning etag, scans`,
)
