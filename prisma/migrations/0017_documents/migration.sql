-- Archived documents and what is derived from them (document_process). The archive's file is never touched: all of this can be derived again.

create table mdm.documents (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  created_at timestamptz not null default now(),
  size_bytes bigint not null check (size_bytes >= 0),
  -- How often it was asked to be read: part of the job's idempotency key.
  run int not null default 0,
  page_count int,
  -- How often its reader had to be killed since it was last asked for: the next one reads less of it.
  reader_kills int not null default 0,
  -- The job that reads it now or read it last; no foreign key, so that a document never blocks a job's deletion.
  job_id uuid,
  processing_status text not null default 'pending' check (processing_status in ('pending', 'processing', 'done', 'failed')),
  title_source text check (title_source in ('user', 'metadata', 'content', 'filename')),
  language text check (language in ('de', 'en')),
  archive_key text not null unique,
  content_sha256 text not null check (content_sha256 ~ '^[0-9a-f]{64}$'),
  mime_type text not null,
  filename text not null check (char_length(filename) between 1 and 255),
  title text check (char_length(title) between 1 and 500),
  uploaded_by text,
  processing_error text,
  -- What workflows set.
  fields jsonb not null default '{}' check (jsonb_typeof(fields) = 'object'),
  constraint documents_title_whole check ((title is null) = (title_source is null))
);
comment on column mdm.documents.language is 'Found in the text; null: none of those that are told apart.';
create index documents_newest on mdm.documents (tenant_id, id);
create index documents_job on mdm.documents (job_id) where job_id is not null;

create table mdm.document_text (
  document_id uuid primary key references mdm.documents on delete cascade,
  created_at timestamptz not null default now(),
  ocr_confidence real,
  engine text not null,
  engine_version text,
  content text not null,
  -- [{"page", "characters", "engine", "confidence"?, "note"?}]
  pages jsonb not null default '[]',
  -- What a title can be derived from without reading the file again.
  title_hints jsonb not null default '{}',
  content_tsv tsvector
);
create index document_text_search on mdm.document_text using gin (content_tsv);

create table mdm.taxonomy_term (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  path text not null check (char_length(path) between 1 and 500),
  name text not null check (char_length(name) between 1 and 200),
  -- Of the terms of a group a document gets at most one by rules: the best.
  exclusive_group text,
  unique (tenant_id, path)
);

create table mdm.taxonomy_rule (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  term_id uuid not null references mdm.taxonomy_term on delete cascade,
  match_type text not null check (match_type in ('any', 'all', 'exact', 'regex', 'fuzzy')),
  field text not null default 'content' check (field in ('content', 'title', 'filename')),
  min_score real check (min_score between 0 and 1),
  enabled boolean not null default true,
  pattern text not null check (char_length(pattern) between 1 and 1000)
);
create index taxonomy_rule_of_term on mdm.taxonomy_rule (term_id);
create index taxonomy_rule_of_tenant on mdm.taxonomy_rule (tenant_id);

create table mdm.document_term (
  document_id uuid not null references mdm.documents on delete cascade,
  term_id uuid not null references mdm.taxonomy_term on delete cascade,
  rule_id uuid references mdm.taxonomy_rule on delete set null,
  score real,
  source text not null check (source in ('auto', 'manual', 'workflow')),
  primary key (document_id, term_id)
);
create index document_term_of_term on mdm.document_term (term_id);
create index document_term_of_rule on mdm.document_term (rule_id);

create table mdm.document_workflow (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  position int not null default 0,
  enabled boolean not null default true,
  name text not null check (char_length(name) between 1 and 200),
  trigger text not null default 'on_upload' check (trigger in ('on_upload')),
  conditions jsonb not null check (jsonb_typeof(conditions) = 'object'),
  actions jsonb not null check (jsonb_typeof(actions) = 'array'),
  unique (tenant_id, name)
);

-- One row a document, workflow and trigger: its actions happen with the row, so that they happen once.
create table mdm.document_workflow_run (
  document_id uuid not null references mdm.documents on delete cascade,
  workflow_id uuid not null references mdm.document_workflow on delete cascade,
  trigger_key text not null,
  created_at timestamptz not null default now(),
  status text not null check (status in ('done', 'failed')),
  result jsonb not null default '{}',
  primary key (document_id, workflow_id, trigger_key)
);
create index document_workflow_run_of_workflow on mdm.document_workflow_run (workflow_id);

-- Nearly the words. pg_trgm may already be there, in whatever schema.
do $$
begin
  create extension if not exists pg_trgm;
  execute format('create function mdm.word_nearness(word text, content text) returns real immutable strict parallel safe language sql as %L',
    format('select %I.word_similarity($1, $2)', (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm')));
end $$;

-- The text search configuration of a document's language.
create function mdm.document_language(language text) returns regconfig immutable parallel safe language sql as $$
  select case language when 'de' then 'pg_catalog.german'::regconfig when 'en' then 'pg_catalog.english'::regconfig else 'pg_catalog.simple'::regconfig end
$$;

-- What a document is found by: its title before its text. A vector holds 1 MiB: of a text that has too many words for it the beginning is taken.
create function mdm.document_vector(language text, title text, content text) returns tsvector stable language plpgsql as $$
declare
  most int := 1000000;
begin
  loop
    begin
      return setweight(to_tsvector(mdm.document_language(language), coalesce(title, '')), 'A')
             || to_tsvector(mdm.document_language(language), left(content, most));
    exception when program_limit_exceeded then
      most := most / 2;
    end;
  end loop;
end $$;

-- A regular expression that a tenant has written: null instead of an error where it is none.
create function mdm.matches_pattern(content text, pattern text) returns boolean immutable language plpgsql as $$
begin
  return content ~* pattern;
exception when invalid_regular_expression then
  return null;
end $$;

-- Asks for a document to be read, in the caller's transaction: at its birth and again. Who stores documents by SQL calls this himself.
create function mdm.process_document(document uuid, derive_title boolean default true, actor text default null, request_id text default null, trace_context text default null)
returns uuid language plpgsql as $$
#variable_conflict use_variable
declare
  asked mdm.documents;
  job uuid;
begin
  update mdm.documents d set run = d.run + 1, processing_status = 'pending', processing_error = null, reader_kills = 0
   where d.id = document
  returning d.* into asked;
  if asked.id is null then
    raise exception 'there is no document %', document using errcode = 'invalid_parameter_value';
  end if;
  select e.job_id into job
    from mdm.enqueue_batch(array[asked.tenant_id], array['document_process'],
           array[jsonb_build_object('document_id', asked.id, 'derive_title', derive_title)::text], array[null::int], array[null::timestamptz],
           array[null::int], array[format('doc:%s:%s', asked.id, asked.run)], array[false],
           array[jsonb_strip_nulls(jsonb_build_object('trace_context', trace_context))],
           coalesce(actor, 'sql:' || session_user), request_id) e;
  update mdm.documents d set job_id = job where d.id = document;
  if actor is null then
    perform pg_notify('mdm_wakeup', '');
  end if;
  return job;
end $$;

-- A document follows the job that reads it: given up with it, waiting again with it.
create function mdm.follow_document_process(job mdm.aa_job, move text) returns void language plpgsql as $$
begin
  if move = 'replay' then
    update mdm.documents set processing_status = 'pending', processing_error = null, reader_kills = 0 where job_id = job.id;
  else
    update mdm.documents
       set processing_status = 'failed',
           processing_error = coalesce(case when move = 'dlq' then job.last_error else job.stop_reason end, job.last_error,
                                       case move when 'discard' then 'Its job was discarded.' else 'Its job was stopped.' end)
     where job_id = job.id and processing_status in ('pending', 'processing');
  end if;
end $$;
