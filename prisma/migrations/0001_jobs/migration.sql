-- Jobs, tenants, kinds, the journal, instances, keys.
-- Column order is measured: fixed not-null columns first, those that change side by side, text and jsonb last (93 bytes of WAL a job).

create schema mdm;
create schema mdm_journal;

-- Ids in order of time keep inserts local in the index. uuidv7() is built in from PostgreSQL 18 on; before, the same layout is made by hand.
do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    create function mdm.uuid_v7() returns uuid language sql volatile parallel safe as 'select uuidv7()';
  else
    -- RFC 9562: 48 bits of milliseconds, version 7, 12 bits of the millisecond's fraction, variant, 62 random bits.
    create function mdm.uuid_v7() returns uuid language sql volatile parallel safe as $f$
      select encode(
        overlay(overlay(uuid_send(gen_random_uuid())
          placing substring(int8send(t.us / 1000) from 3) from 1)
          placing substring(int4send(((7 << 12) | ((t.us % 1000) * 4096 / 1000))::int) from 3) from 7), 'hex')::uuid
      from (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as us) t
    $f$;
  end if;
end $$;

create table mdm.aa_tenant (
  id uuid primary key default mdm.uuid_v7(),
  tenant_key text collate "C" not null unique check (tenant_key ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  name text not null check (char_length(name) between 1 and 200),
  status text not null default 'active' check (status in ('active', 'closed')),
  default_language text not null default 'en',
  metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
  created_at timestamptz not null default now()
);
comment on table mdm.aa_tenant is 'Whose work it is. metadata.weight is the share in round-robin, metadata.rate_limit.<kind> = {"rps", "burst"} the token bucket.';

create type mdm.job_status as enum ('pending', 'running', 'done', 'dlq', 'failed');

create table mdm.aa_job (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  created_at timestamptz not null default now(),
  available_at timestamptz not null default now(),
  priority int not null default 100 check (priority between 0 and 1000),
  max_attempts int not null default 8 check (max_attempts between 1 and 100),
  runs int not null default 0,
  status mdm.job_status not null default 'pending',
  attempts int not null default 0,
  revision int not null default 0,
  deferred boolean not null default false,
  lane smallint generated always as (case when status = 'pending' then case when deferred then 1 else 0 end end) stored,
  claim_revision int,
  lease bigint,
  claimed_at timestamptz,
  heartbeat_at timestamptz,
  completed_at timestamptz,
  dead_at timestamptz,
  stop_requested_at timestamptz,
  claimed_by text,
  -- Its form is checked where a kind is registered and where a row is inserted by hand: every CHECK here is paid at each update, this one 5 us.
  job_kind text collate "C" not null,
  payload jsonb not null default '{}' check (jsonb_typeof(payload) = 'object'),
  last_error text,
  idempotency_key text collate "C" check (char_length(idempotency_key) between 1 and 255),
  progress jsonb,
  result jsonb,
  error_fingerprint text,
  stop_cause text check (stop_cause in ('cancelled', 'stopped')),
  stop_requested_by text,
  stop_reason text,
  tags text[],
  correlation_id text,
  trace_context text,
  enqueued_by text,
  constraint aa_job_attempts_not_negative check (attempts >= 0 and runs >= 0 and revision >= 0),
  constraint aa_job_stop_whole check ((stop_requested_at is null) = (stop_cause is null) and (stop_requested_at is null) = (stop_requested_by is null)),
  constraint aa_job_times_finite check (isfinite(available_at) and isfinite(created_at))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
comment on column mdm.aa_job.revision is 'Order of the job''s changes: every claim and every journaled change adds one, nothing resets it. 0 marks a row inserted by hand.';
comment on column mdm.aa_job.lease is 'The fence: 63 random bits drawn by the claimer for each claim statement; null unless running. Every move out of running names it.';
comment on column mdm.aa_job.lane is '0: due, 1: waiting for its time, null: not queued. All queue indexes hang on it and none on status, so that completion is a HOT update.';
comment on column mdm.aa_job.runs is 'Handler starts ever. Attempt numbers that survive a replay; a claim that goes back unstarted is given back.';

-- Fair pools that serve all kinds; restricted pools and exclusions by pair (kind-first alone drains nine kinds at a third of the speed,
-- tenant-first alone collapses where kinds are left out).
create index aa_job_by_tenant on mdm.aa_job (tenant_id, priority, available_at, id, job_kind) where lane = 0;
create index aa_job_by_kind on mdm.aa_job (job_kind, tenant_id, priority, available_at, id) where lane = 0;
create index aa_job_waiting on mdm.aa_job (available_at) where lane = 1;
create index aa_job_dead_by_tenant on mdm.aa_job (tenant_id, dead_at, id) where dead_at is not null;
create index aa_job_dead on mdm.aa_job (dead_at, id) where dead_at is not null;
create unique index aa_job_key on mdm.aa_job (tenant_id, job_kind, idempotency_key) where idempotency_key is not null;

-- Who runs what: one row a claim statement, deleted when the end of its last job has committed. Recovery, gauges and caps read it, never aa_job by status.
create table mdm.aa_claim (
  id bigint generated always as identity primary key,
  instance_id uuid,
  claimed_at timestamptz not null default now(),
  lease bigint not null,
  job_ids uuid[] not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
create index aa_claim_instance on mdm.aa_claim (instance_id);

create table mdm.aa_instance (
  id uuid primary key,
  host text not null,
  pid int not null,
  version text not null,
  data_dir text,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  draining boolean not null default false,
  event_loop_delay_ms real not null default 0,
  subscriptions int not null default 0,
  abandoned int not null default 0
);

create table mdm.aa_worker (
  id int generated always as identity primary key,
  instance_id uuid references mdm.aa_instance on delete set null,
  name text not null unique,
  pool text not null,
  slots int not null,
  busy int not null default 0,
  kinds text[],
  tenants text[],
  dispatch text not null check (dispatch in ('fair', 'priority')),
  started_at timestamptz not null default now()
);
comment on table mdm.aa_worker is 'One pool of slots in one process start. The journal names the worker by id; name is what claimed_by holds: <host>/<pid>/<uuid>.';
create index aa_worker_instance on mdm.aa_worker (instance_id);

create table mdm.aa_job_kind (
  name text collate "C" primary key check (name ~ '^[a-z0-9_]{1,63}$'),
  description text not null,
  priority int not null check (priority between 0 and 1000),
  max_attempts int not null check (max_attempts between 1 and 100),
  backoff_base_ms bigint not null check (backoff_base_ms >= 0),
  backoff_max_ms bigint not null check (backoff_max_ms >= backoff_base_ms),
  backoff_jitter double precision not null check (backoff_jitter between 0 and 1),
  timeout_ms bigint not null check (timeout_ms > 0),
  stale_after_ms bigint not null check (stale_after_ms > 0),
  max_concurrency int check (max_concurrency > 0),
  retention_ms bigint check (retention_ms >= 0),
  rate_limit jsonb,
  provider text,
  input_field text,
  payload_schema jsonb not null,
  payload_example jsonb not null,
  redacted_paths text[] not null default '{}',
  updated_at timestamptz not null default now()
);
comment on table mdm.aa_job_kind is 'The kinds'' defaults as the instances last started with them, so that SQL callers and recovery know them.';

create table mdm.aa_queue_pause (
  id uuid primary key default mdm.uuid_v7(),
  job_kind text collate "C",
  tenant_id uuid references mdm.aa_tenant,
  since timestamptz not null default now(),
  until timestamptz,
  reason text,
  paused_by text not null,
  constraint aa_queue_pause_names_something check (job_kind is not null or tenant_id is not null),
  constraint aa_queue_pause_one unique nulls not distinct (job_kind, tenant_id)
);

create table mdm.aa_concurrency_limit (
  job_kind text collate "C",
  tenant_id uuid references mdm.aa_tenant,
  max int not null check (max >= 0),
  constraint aa_concurrency_limit_names_something check (job_kind is not null or tenant_id is not null),
  constraint aa_concurrency_limit_one unique nulls not distinct (job_kind, tenant_id)
);

create table mdm.aa_api_key (
  id uuid primary key default mdm.uuid_v7(),
  secret_hash bytea not null unique,
  name text not null check (char_length(name) between 1 and 200),
  scopes text[] not null,
  tenant_ids uuid[],
  created_at timestamptz not null default now(),
  created_by text not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);
comment on table mdm.aa_api_key is 'Keys for services. secret_hash is sha256 of the whole sw_... key; tenant_ids null means every tenant.';

create type mdm.audit_action as enum (
  'job_enqueued', 'job_done', 'job_dlq', 'job_replay', 'job_discard', 'email_sent',
  'job_retry', 'job_released', 'job_recovered', 'job_stop', 'job_cancel', 'job_stop_requested', 'job_cancel_requested',
  'job_rescheduled', 'job_reprioritized', 'job_updated',
  'queue_pause', 'queue_resume', 'rate_limit_set', 'concurrency_limit_set', 'tenant_change', 'api_key_change',
  'suppression_add', 'suppression_remove', 'bulk_start', 'bulk_end'
);

-- The journal: audit log and event history in one. Narrow, each byte is paid once a job: from and to follow from the action,
-- claimed_at is at - run_ms, claim_revision stands only where it is not revision - 1, the actor is null where it is the worker.
create sequence mdm.aa_audit_log_id;
create table mdm.aa_audit_log (
  -- No id may be drawn before its transaction has an xid: a reader that sees the xid pass would drop the gap, and the event was lost (shown).
  id bigint not null default case when pg_current_xact_id() is not null then nextval('mdm.aa_audit_log_id') end,
  at timestamptz not null default now(),
  job_id uuid,
  tenant_id uuid not null,
  action mdm.audit_action not null,
  revision int,
  claim_revision int,
  wait_ms int,
  run_ms int,
  attempt int,
  worker int,
  job_kind text collate "C",
  actor_principal_id text,
  reason text,
  request_id text,
  payload jsonb,
  primary key (id, at)
) partition by range (at);
alter sequence mdm.aa_audit_log_id owned by mdm.aa_audit_log.id;
create index aa_audit_log_job on mdm.aa_audit_log (job_id);
create index aa_audit_log_births on mdm.aa_audit_log (tenant_id, id) where action = 'job_enqueued';
-- What people and machines did beyond the ordinary: the hot path never touches it.
create index aa_audit_log_notable on mdm.aa_audit_log (tenant_id, id) where action not in ('job_enqueued', 'job_done', 'job_retry', 'job_released');
-- Without a partition every move would fail at month's end: what no month catches, this does.
create table mdm_journal.aa_audit_log_default partition of mdm.aa_audit_log default;

create function mdm.refuse_journal_change() returns trigger language plpgsql as $$
begin
  raise exception 'mdm.aa_audit_log is append-only: % is refused', lower(tg_op) using errcode = 'restrict_violation',
    hint = 'Old months are dropped as whole partitions.';
end $$;
create trigger aa_audit_log_append_only before update or delete on mdm.aa_audit_log
  for each row execute function mdm.refuse_journal_change();
create trigger aa_audit_log_no_truncate before truncate on mdm.aa_audit_log
  for each statement execute function mdm.refuse_journal_change();
create trigger aa_audit_log_no_truncate before truncate on mdm_journal.aa_audit_log_default
  for each statement execute function mdm.refuse_journal_change();

-- Makes the partitions of this month and of so many months ahead. A month that already has rows in DEFAULT can no longer be made: they stay there.
create function mdm.ensure_journal_partitions(months_ahead int) returns setof text language plpgsql as $$
declare
  month date;
  partition text;
begin
  for month in select generate_series(date_trunc('month', now() at time zone 'UTC'), date_trunc('month', now() at time zone 'UTC') + make_interval(months => months_ahead), interval '1 month')::date loop
    partition := 'aa_audit_log_' || to_char(month, 'YYYY_MM');
    if to_regclass('mdm_journal.' || partition) is null
       and not exists (select from mdm_journal.aa_audit_log_default where at >= month::timestamp at time zone 'UTC' and at < (month + interval '1 month')::timestamp at time zone 'UTC') then
      execute format('create table mdm_journal.%I partition of mdm.aa_audit_log for values from (%L) to (%L)',
        partition, month::timestamp at time zone 'UTC', (month + interval '1 month')::timestamp at time zone 'UTC');
      execute format('create trigger aa_audit_log_no_truncate before truncate on mdm_journal.%I for each statement execute function mdm.refuse_journal_change()', partition);
      return next partition;
    end if;
  end loop;
end $$;

create view mdm.v_job_dlq as
  select id, tenant_id, job_kind, payload, last_error, attempts, max_attempts, priority, created_at, dead_at, completed_at, error_fingerprint,
         idempotency_key, tags, correlation_id, enqueued_by, revision
    from mdm.aa_job
   where status = 'dlq';
comment on view mdm.v_job_dlq is 'The dead-letter queue: jobs whose attempts are used up or whose error is permanent.';

insert into mdm.aa_tenant (tenant_key, name) values ('platform', 'Platform'), ('default', 'Default');
