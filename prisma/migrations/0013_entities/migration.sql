-- Entities and their types, and what of them asks for work: toggles enqueue their index jobs in the writer's own transaction, whoever writes.

create extension if not exists unaccent with schema mdm;
create extension if not exists pg_trgm with schema mdm;

-- Accents go before the stemmer, so that people find what they type without them. The extension may already live elsewhere.
do $$
declare
  dictionary text := (select format('%I.unaccent', n.nspname)
                        from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'unaccent');
  language text;
begin
  foreach language in array array['german', 'english', 'simple'] loop
    execute format('create text search configuration mdm.%I (copy = pg_catalog.%I)', 'mdm_' || language, language);
    execute format('alter text search configuration mdm.%I alter mapping for hword, hword_part, word with %s, pg_catalog.%I', 'mdm_' || language,
      dictionary, case language when 'simple' then 'simple' else language || '_stem' end);
  end loop;
end $$;

create table mdm.ddm_entity_type (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  type_key text not null check (char_length(type_key) between 1 and 200 and type_key !~ '[[:cntrl:]]'),
  name text,
  language text not null default 'simple' check (language in ('german', 'english', 'simple')),
  is_external_source_target boolean not null default false,
  gin_index_name text unique,
  gin_index_status text not null default 'none' check (gin_index_status in ('none', 'pending', 'building', 'active', 'failed')),
  gin_index_error jsonb,
  gin_index_updated_at timestamptz,
  gin_toggle_version int not null default 0,
  search_version int not null default 1,
  created_at timestamptz not null default now(),
  unique (tenant_id, type_key),
  unique (tenant_id, id)
);
comment on column mdm.ddm_entity_type.search_version is 'Goes up with each change of what its entities are searched by; rows with an older one are caught up by the job reindex.';
comment on column mdm.ddm_entity_type.gin_toggle_version is 'Goes up with each toggle of is_external_source_target: only the job that saw this version sets the index active.';

create table mdm.ddm_entity_type_attribute (
  id uuid primary key default mdm.uuid_v7(),
  entity_type_id uuid not null references mdm.ddm_entity_type,
  attr_key text not null check (attr_key ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
  data_type text not null check (data_type in ('text', 'number', 'date', 'timestamp', 'boolean')),
  required boolean not null default false,
  searchable boolean not null default false,
  sortable boolean not null default false,
  search_weight text not null default 'D' check (search_weight in ('A', 'B', 'C', 'D')),
  index_status text not null default 'none' check (index_status in ('none', 'pending', 'building', 'active', 'failed')),
  index_name text,
  index_error jsonb,
  index_updated_at timestamptz,
  toggle_version int not null default 0,
  -- Fingerprint of the function in the index's expression as it was when the index was built: another one, and the index holds old values.
  index_built_with text,
  unique (entity_type_id, attr_key)
);
comment on column mdm.ddm_entity_type_attribute.toggle_version is 'Goes up with each change that asks for other indexes: only the job that saw this version sets them active.';

create table mdm.ddm_entity (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null,
  entity_type_id uuid not null,
  external_key text,
  attributes jsonb not null default '{}' check (jsonb_typeof(attributes) = 'object'),
  search_vector tsvector,
  search_version int not null default 0,
  import_job_id uuid,
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Nobody's entity can be of somebody else's type.
  foreign key (tenant_id, entity_type_id) references mdm.ddm_entity_type (tenant_id, id)
) with (fillfactor = 90);
create unique index ddm_entity_external_key on mdm.ddm_entity (tenant_id, entity_type_id, external_key) where external_key is not null;
create index ddm_entity_of_type on mdm.ddm_entity (tenant_id, entity_type_id, id);
create index ddm_entity_search on mdm.ddm_entity using gin (search_vector);
comment on column mdm.ddm_entity.search_vector is 'Written by a trigger, and by the job reindex. The attributes'' own indexes (ix_entity_...) are made by the jobs index_sync and gin_backfill.';

-- How far a reindex is: its place survives the end of the process, and moves in the transaction of the batch.
create table mdm.ddm_reindex_run (
  job_id uuid primary key,
  entity_type_id uuid not null,
  target_version int not null,
  after_id uuid,
  done bigint not null default 0,
  vectors bigint not null default 0,
  total bigint not null,
  waits_for text[] not null default '{}',
  started_at timestamptz not null default now()
);
comment on column mdm.ddm_reindex_run.waits_for is 'Transactions that wrote entities when the run began: they may bring rows of the former configuration, so a last pass follows their end.';

-- The values of attributes as their indexes hold them. Total: whatever stands in a row, they answer a value or null and never raise, since an index
-- on an expression that raises refuses rows. Bounded: no value is too long for a btree. PostgreSQL builds indexes with an empty search_path.

-- Steps of plpgsql and no CASE: that is folded as soon as the value is known, and then the guarded branch raises.

create function mdm.attr_number(v text) returns numeric immutable strict parallel safe language plpgsql as $$
begin
  if length(v) > 100 or v collate "C" ~* '[ni]' or not pg_catalog.pg_input_is_valid(v, 'numeric') then
    return null;
  end if;
  return v::numeric;
end $$;
create function mdm.attr_date(v text) returns date immutable strict parallel safe language plpgsql as $$
begin
  if v collate "C" !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' or not pg_catalog.pg_input_is_valid(v, 'date') then
    return null;
  end if;
  return make_date(substr(v, 1, 4)::int, substr(v, 6, 2)::int, substr(v, 9, 2)::int);
end $$;
-- Without an offset it is UTC, never the session's zone.
create function mdm.attr_timestamp(v text) returns timestamptz immutable strict parallel safe language plpgsql as $$
declare
  parts text[] := regexp_match(v collate "C", '^([0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,9})?)?)(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?$');
  instant text := parts[1] || coalesce(parts[2], 'Z');
begin
  if instant is null or not pg_catalog.pg_input_is_valid(instant, 'timestamptz') then
    return null;
  end if;
  return instant::timestamptz;
end $$;
create function mdm.attr_boolean(v text) returns boolean immutable strict parallel safe language sql as $$
  select case lower(v collate "C") when 'true' then true when 'false' then false end
$$;
comment on function mdm.attr_number is 'The number in a text of at most 100 characters; null: it is none.';
comment on function mdm.attr_date is 'The date in a text of the form 2026-01-31; null: it is none.';
comment on function mdm.attr_timestamp is 'The instant in a text of ISO 8601, UTC where it names no offset; null: it is none.';
comment on function mdm.attr_boolean is 'true or false; null: neither.';

-- Whether a value is of the attribute's data type, as its index sees it. Null is a value that is missing.
create function mdm.attr_fits(v text, data_type text) returns boolean immutable parallel safe language sql as $$
  select case data_type when 'number' then mdm.attr_number(v) is not null when 'date' then mdm.attr_date(v) is not null
    when 'timestamp' then mdm.attr_timestamp(v) is not null when 'boolean' then mdm.attr_boolean(v) is not null else true end or v is null
$$;

-- The SQL expression by which an attribute is sorted and compared: index and query have to agree in it letter by letter, so that both take it from here.
create function mdm.attr_expression(attr_key text, data_type text) returns text immutable parallel safe language sql as $$
  select case data_type when 'text' then format('left(attributes ->> %L, 200)', attr_key)
    else format('mdm.attr_%s(attributes ->> %L)', data_type, attr_key) end
$$;
-- The same for "contains".
create function mdm.attr_text_expression(attr_key text) returns text immutable parallel safe language sql as $$
  select format('left(attributes ->> %L, 20000)', attr_key)
$$;

-- What the entities of a type are searched by: language, version, and the searchable keys of each weight.
create function mdm.search_config(type_id uuid)
returns table (language text, search_version int, a text[], b text[], c text[], d text[]) stable language sql as $$
  select t.language, t.search_version, k.a, k.b, k.c, k.d
    from mdm.ddm_entity_type t
    cross join lateral (
      select coalesce(array_agg(p.attr_key) filter (where p.search_weight = 'A'), '{}') as a,
             coalesce(array_agg(p.attr_key) filter (where p.search_weight = 'B'), '{}') as b,
             coalesce(array_agg(p.attr_key) filter (where p.search_weight = 'C'), '{}') as c,
             coalesce(array_agg(p.attr_key) filter (where p.search_weight = 'D'), '{}') as d
        from (select q.attr_key, q.search_weight from mdm.ddm_entity_type_attribute q
               where q.entity_type_id = t.id and q.searchable order by q.attr_key) p) k
   where t.id = type_id
$$;

-- The search vector of an entity. Never raises: 20,000 characters of each value count, fewer where all together would exceed what a tsvector holds
-- (1 MiB); words of 2 kB and more are left out by PostgreSQL with a notice, which nobody needs.
create function mdm.entity_tsv(language text, attributes jsonb, a text[], b text[], c text[], d text[]) returns tsvector
stable parallel safe language plpgsql set client_min_messages = warning as $$
declare
  config regconfig := ('mdm.mdm_' || language)::regconfig;
  cut int := 20000;
  texts text[];
begin
  loop
    texts := array[mdm.attr_texts(attributes, a, cut), mdm.attr_texts(attributes, b, cut), mdm.attr_texts(attributes, c, cut), mdm.attr_texts(attributes, d, cut)];
    if octet_length(texts[1]) + octet_length(texts[2]) + octet_length(texts[3]) + octet_length(texts[4]) <= 100000 then
      return mdm.weighted_tsv(config, texts);
    end if;
    -- A block with an exception is a subtransaction: only where the limit can be met at all.
    begin
      return mdm.weighted_tsv(config, texts);
    exception when program_limit_exceeded then
      cut := cut / 2;
    end;
  end loop;
end $$;
-- Steps of plpgsql, all of them simple: written as one SELECT each, these two took four times as long, and every row pays for them.
create function mdm.attr_texts(attributes jsonb, keys text[], cut int) returns text immutable parallel safe language plpgsql as $$
declare
  key text;
  texts text := '';
begin
  foreach key in array keys loop
    texts := texts || coalesce(left(attributes ->> key, cut), '') || ' ';
  end loop;
  return texts;
end $$;
create function mdm.weighted_tsv(config regconfig, texts text[]) returns tsvector immutable parallel safe language plpgsql as $$
declare
  vector tsvector := '';
begin
  for n in 1 .. 4 loop
    if texts[n] <> '' then
      vector := vector || setweight(to_tsvector(config, texts[n]), chr(64 + n)::"char");
    end if;
  end loop;
  return vector;
end $$;

create function mdm.write_entity() returns trigger language plpgsql as $$
declare
  conf record;
begin
  if tg_op = 'UPDATE' then
    if (new.attributes, new.external_key) is distinct from (old.attributes, old.external_key) then
      new.version := old.version + 1;
      new.updated_at := now();
    end if;
    if new.attributes is not distinct from old.attributes and new.entity_type_id = old.entity_type_id then
      return new;
    end if;
  end if;
  select * into conf from mdm.search_config(new.entity_type_id);
  if found then
    new.search_vector := mdm.entity_tsv(conf.language, new.attributes, conf.a, conf.b, conf.c, conf.d);
    new.search_version := conf.search_version;
  end if;
  return new;
end $$;
create trigger ddm_entity_write before insert or update of attributes, external_key, entity_type_id on mdm.ddm_entity
  for each row execute function mdm.write_entity();

-- Enqueues in the toggle's transaction. The service says who asked for it; others are named by their role.
create function mdm.enqueue_for_toggle(kind text, tenants uuid[], payloads text[], keys text[]) returns void language plpgsql as $$
begin
  if tenants is null then
    return;
  end if;
  perform mdm.enqueue_batch(tenants, array_fill(kind, array[cardinality(tenants)]), payloads, '{}', '{}', '{}', keys, '{}', '{}',
    coalesce(nullif(current_setting('stellwerk.actor', true), ''), 'sql:' || session_user), nullif(current_setting('stellwerk.request_id', true), ''));
  perform pg_notify('mdm_wakeup', '');
end $$;

-- Types: the flag for external sources asks for gin_backfill, another language for another search version, and that for reindex.

create function mdm.mark_entity_type() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' and new.is_external_source_target or tg_op = 'UPDATE' and new.is_external_source_target <> old.is_external_source_target then
    new.gin_index_status := 'pending';
    new.gin_index_error := null;
    new.gin_index_updated_at := now();
    new.gin_toggle_version := new.gin_toggle_version + 1;
  end if;
  if tg_op = 'UPDATE' and new.language <> old.language and new.search_version = old.search_version then
    new.search_version := old.search_version + 1;
  end if;
  return new;
end $$;
create trigger ddm_entity_type_mark before insert or update on mdm.ddm_entity_type
  for each row execute function mdm.mark_entity_type();

create function mdm.follow_entity_type_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform mdm.enqueue_for_toggle('gin_backfill', array_agg(o.tenant_id order by o.id), array_agg(jsonb_build_object('entity_type_id', o.id)::text order by o.id),
              array_agg('gin_backfill:' || o.id || ':gone' order by o.id))
       from former o where o.gin_index_name is not null;
    return null;
  end if;
  if tg_op = 'INSERT' then
    perform mdm.enqueue_for_toggle('gin_backfill', array_agg(n.tenant_id order by n.id), array_agg(jsonb_build_object('entity_type_id', n.id)::text order by n.id),
              array_agg('gin_backfill:' || n.id || ':' || n.gin_toggle_version order by n.id))
       from present n where n.is_external_source_target;
    return null;
  end if;
  perform mdm.enqueue_for_toggle('gin_backfill', array_agg(n.tenant_id order by n.id), array_agg(jsonb_build_object('entity_type_id', n.id)::text order by n.id),
            array_agg('gin_backfill:' || n.id || ':' || n.gin_toggle_version order by n.id))
     from present n join former o using (id) where n.gin_toggle_version > o.gin_toggle_version;
  -- A running reindex that takes the next version for itself needs no other job.
  if current_setting('stellwerk.reindexing', true) is distinct from 'on' then
    perform mdm.enqueue_for_toggle('reindex', array_agg(n.tenant_id order by n.id),
              array_agg(jsonb_build_object('entity_type_id', n.id, 'target_version', n.search_version,
                'reason', coalesce(nullif(current_setting('stellwerk.reason', true), ''), 'The configuration of its search changed.'))::text order by n.id),
              array_agg('reindex:' || n.id || ':' || n.search_version order by n.id))
       from present n join former o using (id) where n.search_version > o.search_version;
  end if;
  return null;
end $$;
create trigger ddm_entity_type_insert after insert on mdm.ddm_entity_type
  referencing new table as present for each statement execute function mdm.follow_entity_type_change();
create trigger ddm_entity_type_update after update on mdm.ddm_entity_type
  referencing old table as former new table as present for each statement execute function mdm.follow_entity_type_change();
create trigger ddm_entity_type_delete after delete on mdm.ddm_entity_type
  referencing old table as former for each statement execute function mdm.follow_entity_type_change();

-- Attributes: what asks for other indexes enqueues index_sync, what changes the search makes the next search version.

create function mdm.mark_entity_attribute() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' and (new.searchable or new.sortable)
     or tg_op = 'UPDATE' and (new.searchable, new.sortable, new.data_type, new.attr_key) is distinct from (old.searchable, old.sortable, old.data_type, old.attr_key)
        and (new.searchable or new.sortable or old.searchable or old.sortable) then
    new.index_status := 'pending';
    new.index_error := null;
    new.index_updated_at := now();
    new.toggle_version := new.toggle_version + 1;
  end if;
  return new;
end $$;
create trigger ddm_entity_type_attribute_mark before insert or update on mdm.ddm_entity_type_attribute
  for each row execute function mdm.mark_entity_attribute();

create function mdm.follow_entity_attribute_change() returns trigger language plpgsql as $$
declare
  researched uuid[];
begin
  if tg_op = 'INSERT' then
    perform mdm.enqueue_for_toggle('index_sync', array_agg(t.tenant_id order by n.id), array_agg(jsonb_build_object('attribute_id', n.id)::text order by n.id),
              array_agg('index_sync:' || n.id || ':' || n.toggle_version order by n.id))
       from present n join mdm.ddm_entity_type t on t.id = n.entity_type_id where n.searchable or n.sortable;
    researched := array(select distinct n.entity_type_id from present n where n.searchable);
  elsif tg_op = 'UPDATE' then
    perform mdm.enqueue_for_toggle('index_sync', array_agg(t.tenant_id order by n.id), array_agg(jsonb_build_object('attribute_id', n.id)::text order by n.id),
              array_agg('index_sync:' || n.id || ':' || n.toggle_version order by n.id))
       from present n join former o using (id) join mdm.ddm_entity_type t on t.id = n.entity_type_id where n.toggle_version > o.toggle_version;
    researched := array(
      select distinct n.entity_type_id from present n join former o using (id)
       where n.searchable <> o.searchable or n.searchable and (n.search_weight, n.attr_key) is distinct from (o.search_weight, o.attr_key));
  else
    perform mdm.enqueue_for_toggle('index_sync', array_agg(t.tenant_id order by o.id), array_agg(jsonb_build_object('attribute_id', o.id)::text order by o.id),
              array_agg('index_sync:' || o.id || ':gone' order by o.id))
       from former o join mdm.ddm_entity_type t on t.id = o.entity_type_id where o.index_name is not null;
    researched := array(select distinct o.entity_type_id from former o where o.searchable);
  end if;
  if researched <> '{}' then
    perform from mdm.ddm_entity_type where id = any (researched) order by id for no key update;
    update mdm.ddm_entity_type set search_version = search_version + 1 where id = any (researched);
  end if;
  return null;
end $$;
create trigger ddm_entity_type_attribute_insert after insert on mdm.ddm_entity_type_attribute
  referencing new table as present for each statement execute function mdm.follow_entity_attribute_change();
create trigger ddm_entity_type_attribute_update after update on mdm.ddm_entity_type_attribute
  referencing old table as former new table as present for each statement execute function mdm.follow_entity_attribute_change();
create trigger ddm_entity_type_attribute_delete after delete on mdm.ddm_entity_type_attribute
  referencing old table as former for each statement execute function mdm.follow_entity_attribute_change();

-- What is said of an index follows its job out of the queue: an index that nobody builds any more is not "being built".

create function mdm.payload_uuid(payload jsonb, field text) returns uuid immutable parallel safe language sql as $$
  select substring(lower(payload ->> field) from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid
$$;

-- A job says something of its own tenant's indexes only, whatever stands in its payload.
create function mdm.follow_index_sync(job mdm.aa_job, move text) returns void language plpgsql as $$
declare
  attribute uuid := (
    select a.id from mdm.ddm_entity_type_attribute a join mdm.ddm_entity_type t on t.id = a.entity_type_id
     where a.id = mdm.payload_uuid(job.payload, 'attribute_id') and t.tenant_id = job.tenant_id);
begin
  if move = 'replay' then
    update mdm.ddm_entity_type_attribute set index_status = 'pending', index_updated_at = now() where id = attribute and index_status = 'failed';
  else
    update mdm.ddm_entity_type_attribute
       set index_status = 'failed', index_updated_at = now(),
           index_error = coalesce(index_error, jsonb_build_object('code', 'job_ended', 'message',
             coalesce(job.last_error, job.stop_reason, 'Its job ended before the index was there.')))
     where id = attribute and index_status in ('pending', 'building')
       and not exists (select from mdm.aa_job j where j.job_kind = 'index_sync' and j.tenant_id = job.tenant_id and j.id <> job.id
                          and j.idempotency_key = 'index_sync:' || attribute || ':' || toggle_version and j.status in ('pending', 'running'));
  end if;
end $$;

create function mdm.follow_gin_backfill(job mdm.aa_job, move text) returns void language plpgsql as $$
declare
  type_id uuid := (
    select t.id from mdm.ddm_entity_type t
     where t.tenant_id = job.tenant_id
       and (t.id = mdm.payload_uuid(job.payload, 'entity_type_id') or not job.payload ? 'entity_type_id' and t.type_key = job.payload ->> 'type_key'));
begin
  if move = 'replay' then
    update mdm.ddm_entity_type set gin_index_status = 'pending', gin_index_updated_at = now() where id = type_id and gin_index_status = 'failed';
  else
    update mdm.ddm_entity_type
       set gin_index_status = 'failed', gin_index_updated_at = now(),
           gin_index_error = coalesce(gin_index_error, jsonb_build_object('code', 'job_ended', 'message',
             coalesce(job.last_error, job.stop_reason, 'Its job ended before the index was there.')))
     where id = type_id and gin_index_status in ('pending', 'building')
       and not exists (select from mdm.aa_job j where j.job_kind = 'gin_backfill' and j.tenant_id = job.tenant_id and j.id <> job.id
                          and j.idempotency_key = 'gin_backfill:' || type_id || ':' || gin_toggle_version and j.status in ('pending', 'running'));
  end if;
end $$;

create function mdm.follow_reindex(job mdm.aa_job, move text) returns void language plpgsql as $$
begin
  if move = 'discard' then
    delete from mdm.ddm_reindex_run where job_id = job.id;
  end if;
end $$;

-- The triggers above enqueue these, also in a database in which no instance has started yet. Every start writes what holds.
insert into mdm.aa_job_kind (name, description, priority, max_attempts, backoff_base_ms, backoff_max_ms, backoff_jitter, timeout_ms, stale_after_ms, retention_ms, payload_schema, payload_example)
values ('reindex', 'Rebuilds the search vectors of the entities of one type.', 150, 5, 60000, 3600000, 0.1, 600000, 1800000, 2592000000, '{}', '{}'),
       ('index_sync', 'Brings the indexes of one attribute in line with its flags.', 200, 3, 300000, 1800000, 0.1, 3300000, 7200000, 7776000000, '{}', '{}'),
       ('gin_backfill', 'Builds or drops the index for look-ups by external sources of one type.', 200, 3, 300000, 1800000, 0.1, 3300000, 7200000, 7776000000, '{}', '{}')
on conflict (name) do nothing;
