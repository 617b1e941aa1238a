import { statement } from './statement.ts'

type Params = [
  id: string,
  jobId: string,
  verdict: 'clean' | 'infected' | 'unscannable',
  /** What was found, or why it cannot be judged; null: clean. */
  signature: string | null,
  scannerVersion: string | null,
  /** Null: too large to be read at all. */
  sha256: string | null,
  detectedType: string | null,
  /** Where the bytes lie from now on. */
  objectKey: string,
]

export const recordScan = statement<Params, { id: string; events: number }>(
  'record_scan',
  `-- scanning -> clean, infected or unscannable; in the transaction in which the job becomes done. No row: another job has taken the scan over. What is not clean locks every attachment of the same object
with before as (
  select a.id, a.object_key, a.store, a.incoming_key, a.upload_expires_at
    from mdm.ddm_attachment a
   where a.id = $1 and a.job_id = $2::uuid and a.virus_scan_status = 'scanning'
     for no key update),
twins as (
  select a.id from mdm.ddm_attachment a join before b on a.object_key = b.object_key and a.store = b.store and a.id <> b.id
   where $3 <> 'clean' and a.virus_scan_status = 'clean'
   order by a.id
     for no key update of a),
judged as (
  update mdm.ddm_attachment a
     set virus_scan_status = $3, virus_signature = $4, scanner_version = $5, sha256 = $6, detected_type = $7, object_key = $8, scanned_at = now(), scan_error = null
   where a.id in (select id from before union all select id from twins)
  returning a.id, a.tenant_id, a.filename, a.size_bytes, a.store, a.object_key),
given_up as (
  insert into mdm.aa_object_removal (store, object_key, due_at)
  select b.store, b.object_key, now() from before b where b.object_key <> $8
  union all
  -- Its URL may still take bytes, which nobody will ask for.
  select b.store, b.incoming_key, greatest(b.upload_expires_at, now()) + interval '1 hour' from before b
  on conflict (store, object_key) do nothing),
audited as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, attempt, worker, job_kind, payload)
  select j.id, d.tenant_id, 'attachment_scanned', j.runs, (select w.id from mdm.aa_worker w where w.name = j.claimed_by), j.job_kind,
         jsonb_build_object('attachment_id', d.id, 'status', $3, 'signature', $4, 'sha256', $6, 'scanner_version', $5)
    from judged d join mdm.aa_job j on j.id = $2),
told as (
  select mdm.publish_event(d.tenant_id, 'attachment.' || $3, 'attachment', d.id::text,
           jsonb_build_object('attachment_id', d.id, 'filename', d.filename, 'size_bytes', d.size_bytes, 'sha256', $6, 'status', $3, 'signature', $4)) as event_id
    from judged d)
select d.id, (select count(t.event_id)::int from told t) as events from judged d where d.id = $1`,
)
