import { statement } from './statement.ts'
import type { VirusScanStatus } from './attachment-row.ts'

/** Where the bytes of a scan lie. */
export interface BegunScan {
  /** Whether this job scans; else the attachment is another one's, was judged already, or lies in another store. */
  readonly mine: boolean
  readonly status: VirusScanStatus
  readonly store: string
  readonly filename: string
  readonly sizeBytes: number
  readonly etag: string
  /** What an earlier scan has found in the same bytes. */
  readonly sha256: string | null
  readonly incomingKey: string
  /** Where the bytes are to be taken from `incomingKey`, or lie already. */
  readonly objectKey: string
}

type Params = [
  id: string,
  tenantId: string,
  jobId: string,
  etag: string | null,
  reason: 'commit' | 'rescan',
  store: string,
]

export const beginScan = statement<Params, BegunScan>(
  'begin_scan',
  `-- pending, scanning -> scanning, by the job that the attachment names; a rescan takes over one whose scan has ended. No row: there is no such attachment in the tenant, or it has no bytes
with found as (
  select a.*,
         a.store = $6 and ($4::text is null or a.etag = $4)
           and (a.virus_scan_status in ('pending', 'scanning') and (a.job_id = $3::uuid or a.job_id is null)
             or $5 = 'rescan' and a.job_id is distinct from $3 and a.virus_scan_status in ('clean', 'infected', 'unscannable', 'error')) as mine
    from mdm.ddm_attachment a
   where a.id = $1 and a.tenant_id = $2 and a.upload_status = 'committed'
     for no key update),
begun as (
  update mdm.ddm_attachment a
     set virus_scan_status = 'scanning', job_id = $3, virus_signature = null, scan_error = null,
         object_key = coalesce(a.object_key, 'quarantine/' || a.tenant_id || '/' || a.id || '/' || $3::uuid)
    from found f where a.id = f.id and f.mine
  returning a.id, a.virus_scan_status, a.object_key)
select b.id is not null as mine, coalesce(b.virus_scan_status, f.virus_scan_status) as status, f.store, f.filename, f.size_bytes::float8 as "sizeBytes", f.etag, f.sha256,
       f.incoming_key as "incomingKey", coalesce(b.object_key, f.object_key, '') as "objectKey"
  from found f left join begun b on b.id = f.id`,
)
