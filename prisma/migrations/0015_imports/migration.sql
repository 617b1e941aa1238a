-- Files on their way into entities, and their rows.

create table mdm.aa_import_job (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  entity_type_id uuid not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  purged_at timestamptz,
  size_bytes bigint not null check (size_bytes >= 0),
  job_id uuid,
  staged_rows int not null default 0,
  validated_rows int not null default 0,
  valid_rows int not null default 0,
  invalid_rows int not null default 0,
  committed_rows int not null default 0,
  total_rows int,
  status text not null default 'uploaded' check (status in ('uploaded', 'staging', 'validating', 'validated', 'committing', 'done', 'failed', 'cancelled')),
  resume_status text,
  format text check (format in ('csv', 'xlsx', 'ndjson')),
  encoding text,
  created_by text not null,
  object_store text not null,
  object_key text not null,
  result_key text,
  content_sha256 text not null,
  upload_key text collate "C",
  filename text,
  mapping jsonb not null default '{}',
  options jsonb not null default '{}',
  columns jsonb,
  header text[],
  error jsonb,
  foreign key (tenant_id, entity_type_id) references mdm.ddm_entity_type (tenant_id, id),
  constraint aa_import_job_counts check (staged_rows >= 0 and validated_rows >= 0 and valid_rows >= 0 and invalid_rows >= 0 and committed_rows >= 0)
) with (fillfactor = 50);
comment on table mdm.aa_import_job is 'An uploaded file and how far it is. Its job only says that it goes on; what is done stands here and in the rows, in the same transactions.';
comment on column mdm.aa_import_job.upload_key is 'Same file, type, mapping and options: one import. Null once it failed, was cancelled or was tidied up, so that the file may come again.';
comment on column mdm.aa_import_job.columns is 'Attribute to the name under which the rows have it.';
comment on column mdm.aa_import_job.resume_status is 'Where it goes on should its dead job be replayed.';
comment on column mdm.aa_import_job.object_store is 'Names the store in which object_key and result_key lie: instances may have stores of their own.';
create unique index aa_import_job_upload on mdm.aa_import_job (tenant_id, upload_key) where upload_key is not null;
create index aa_import_job_newest on mdm.aa_import_job (tenant_id, id);
create index aa_import_job_job on mdm.aa_import_job (job_id) where job_id is not null;
create index aa_import_job_kept on mdm.aa_import_job (created_at) where purged_at is null;

create table mdm.aa_import_row (
  import_job_id uuid not null references mdm.aa_import_job on delete cascade,
  entity_id uuid not null default mdm.uuid_v7(),
  row_no int not null,
  status text not null default 'staged' check (status in ('staged', 'valid', 'invalid', 'committed', 'skipped')),
  external_key text,
  raw jsonb not null,
  attributes jsonb,
  errors jsonb,
  primary key (import_job_id, row_no)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.1);
comment on column mdm.aa_import_row.entity_id is 'The entity that it becomes, chosen when it is read in: whoever commits it, and how often, it is one.';
create index aa_import_row_open on mdm.aa_import_row (import_job_id, status, row_no) where status in ('staged', 'valid');
create index aa_import_row_bad on mdm.aa_import_row (import_job_id, row_no) where status = 'invalid';
create index aa_import_row_key on mdm.aa_import_row (import_job_id, external_key, row_no) where external_key is not null;

-- Written before the first byte of a file is stored, gone with the import's row: what a process that died left behind is found here.
create table mdm.aa_import_upload (
  id uuid primary key,
  created_at timestamptz not null default now(),
  object_store text not null,
  object_key text not null
);

-- What the file says of an entity, over what it is: other attributes stay, those that are null here go.
create function mdm.apply_attributes(present jsonb, given jsonb) returns jsonb immutable strict parallel safe language sql as $$
  select (present || given) - array(select e.key from jsonb_each(given) e where e.value = 'null')
$$;

-- The import follows its job on every way out but success, which the worker writes itself.
create function mdm.follow_bulk_import(job mdm.aa_job, move text) returns void language plpgsql as $$
begin
  if move = 'replay' then
    update mdm.aa_import_job set status = resume_status, resume_status = null, error = null, finished_at = null
     where job_id = job.id and status in ('failed', 'cancelled') and resume_status is not null and purged_at is null;
  else
    update mdm.aa_import_job
       set resume_status = status, status = case when move = 'dlq' then 'failed' else 'cancelled' end, upload_key = null, finished_at = now(),
           error = jsonb_build_object('code', case when move = 'dlq' then 'job_failed' else 'job_' || move end, 'message',
             case when move = 'dlq' then coalesce('Its job failed: ' || job.last_error, 'Its job failed.') else coalesce(job.stop_reason, 'Its job was ended before it was done.') end)
     where job_id = job.id and status in ('uploaded', 'staging', 'validating', 'committing');
  end if;
end $$;
