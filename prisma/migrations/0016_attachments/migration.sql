-- Uploaded files and what their scan found; objects that a transaction has given up.

create table mdm.ddm_attachment (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  created_at timestamptz not null default now(),
  created_by text,
  entity_id uuid,
  filename text not null check (char_length(filename) between 1 and 255),
  declared_type text not null check (char_length(declared_type) between 1 and 255),
  detected_type text,
  announced_bytes bigint not null check (announced_bytes > 0),
  size_bytes bigint,
  sha256 text check (sha256 ~ '^[0-9a-f]{64}$'),
  upload_status text not null default 'pending_upload' check (upload_status in ('pending_upload', 'committed', 'deleted')),
  upload_expires_at timestamptz not null,
  store text not null,
  incoming_key text not null,
  object_key text,
  etag text,
  virus_scan_status text not null default 'none'
    check (virus_scan_status in ('none', 'pending', 'scanning', 'clean', 'infected', 'unscannable', 'error')),
  virus_signature text,
  scanner_version text,
  scanned_at timestamptz,
  scan_error text,
  job_id uuid,
  scans int not null default 0,
  check ((upload_status = 'pending_upload') = (virus_scan_status = 'none')),
  -- What is clean is what was scanned, under a key that nobody but this service may write to.
  check (virus_scan_status <> 'clean' or (object_key is not null and sha256 is not null and size_bytes is not null))
);
create index ddm_attachment_of_tenant on mdm.ddm_attachment (tenant_id, id);
create index ddm_attachment_job on mdm.ddm_attachment (job_id);
create index ddm_attachment_object on mdm.ddm_attachment (object_key);
create index ddm_attachment_pending_upload on mdm.ddm_attachment (created_at) where upload_status = 'pending_upload';
create index ddm_attachment_locked on mdm.ddm_attachment (created_at)
  where upload_status = 'committed' and virus_scan_status in ('infected', 'unscannable', 'error');
comment on column mdm.ddm_attachment.store is 'The object store that holds the bytes; an instance with another one cannot find them.';
comment on column mdm.ddm_attachment.object_key is 'Where the bytes lie once they were taken from incoming_key: quarantine/ until they are clean, then objects/. Null: still there, or deleted.';
comment on column mdm.ddm_attachment.job_id is 'The job of the last scan. The status follows it; no foreign key, so that history never blocks a deletion.';
comment on column mdm.ddm_attachment.scans is 'Scans asked for so far: part of their idempotency keys.';

create table mdm.aa_object_removal (
  store text not null,
  object_key text not null,
  due_at timestamptz not null default now(),
  primary key (store, object_key)
);
create index aa_object_removal_due on mdm.aa_object_removal (store, due_at);
comment on table mdm.aa_object_removal is 'Objects that nobody needs once the transaction has committed that wrote this. Instances with that store remove them.';

-- The scan status follows its job: whoever ends the job for good, the file stays locked, never clean by default.
create function mdm.follow_virus_scan(job mdm.aa_job, move text) returns void language plpgsql as $$
begin
  if move = 'replay' then
    update mdm.ddm_attachment set virus_scan_status = 'pending', scan_error = null
     where job_id = job.id and virus_scan_status = 'error' and upload_status = 'committed';
  else
    update mdm.ddm_attachment
       set virus_scan_status = 'error', virus_signature = null,
           scan_error = left(coalesce(job.last_error, job.stop_reason, 'The scan was given up.'), 2000)
     where job_id = job.id and virus_scan_status in ('pending', 'scanning');
  end if;
end $$;
