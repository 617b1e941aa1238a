-- The outbox, the endpoints that want its events, and what is on its way to them.

create table mdm.aa_outbox_event (
  id bigint generated always as identity primary key,
  event_id uuid not null unique default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  -- Of the insert, not of its transaction: ids and times of one aggregate agree.
  occurred_at timestamptz not null default clock_timestamp(),
  fanned_out_at timestamptz,
  status text not null default 'pending' check (status in ('pending', 'dispatched')),
  event_type text collate "C" not null check (event_type ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}$'),
  aggregate_type text check (char_length(aggregate_type) between 1 and 200),
  aggregate_id text check (char_length(aggregate_id) between 1 and 200),
  payload jsonb not null,
  constraint aa_outbox_event_payload_size check (octet_length(payload::text) <= 250000)
);
comment on table mdm.aa_outbox_event is 'Facts to tell: insert in the transaction that makes them true. Its job comes by a trigger, whoever inserts.';
create index aa_outbox_event_pending on mdm.aa_outbox_event (tenant_id, id) where status = 'pending';

create table mdm.aa_webhook_subscription (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  created_at timestamptz not null default now(),
  ordered boolean not null default false,
  consecutive_failures int not null default 0 check (consecutive_failures >= 0),
  first_failure_at timestamptz,
  last_success_at timestamptz,
  throttle_until timestamptz,
  disabled_at timestamptz,
  head_delivery_id uuid,
  status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
  on_dlq text not null default 'continue' check (on_dlq in ('continue', 'block')),
  disabled_reason text,
  created_by text not null,
  url text not null check (char_length(url) between 1 and 2000),
  event_types text[] not null check (cardinality(event_types) between 1 and 100),
  secrets_enc bytea[] not null,
  secrets_until timestamptz[] not null,
  constraint aa_webhook_subscription_secrets check (cardinality(secrets_enc) = cardinality(secrets_until) and cardinality(secrets_enc) between 1 and 10)
) with (fillfactor = 50);
create index aa_webhook_subscription_tenant on mdm.aa_webhook_subscription (tenant_id);
comment on column mdm.aa_webhook_subscription.secrets_enc is 'AES-256-GCM by STELLWERK_SECRET_KEY, newest first; each signs until its time in secrets_until.';
comment on column mdm.aa_webhook_subscription.head_delivery_id is 'Ordered: the one delivery under way.';

create table mdm.aa_webhook_delivery (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  subscription_id uuid not null references mdm.aa_webhook_subscription,
  -- No foreign key: an event goes once nobody waits for it, the record of its delivery stays longer. So its id and type stand here too.
  event_pk bigint not null,
  event_id uuid not null,
  created_at timestamptz not null default now(),
  attempts int not null default 0 check (attempts >= 0),
  last_status int,
  duration_ms int,
  delivered_at timestamptz,
  job_id uuid,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'dead', 'held', 'cancelled')),
  event_type text not null,
  last_error text,
  constraint aa_webhook_delivery_once unique (subscription_id, event_pk)
);
comment on column mdm.aa_webhook_delivery.job_id is 'The job that carries it. A run of any other job leaves it alone. Null: an ordered one that waits for its turn, or held before it had one.';
-- The next in order, what is held when an endpoint is switched off, what is delivered again.
create index aa_webhook_delivery_open on mdm.aa_webhook_delivery (subscription_id, event_pk) where status <> 'delivered';

-- Jobs of this kind come into being in whatever transaction makes them necessary, also for a tenant that is closed or before the first
-- instance has registered the kind: a writer never fails because of them. `p_ahead`: so much before the kind's own priority.
create function mdm.enqueue_dispatch(p_ids uuid[], p_tenants uuid[], p_payloads jsonb[], p_ahead int) returns void language sql as $$
  with made as (
    insert into mdm.aa_job (id, tenant_id, priority, max_attempts, revision, job_kind, payload, enqueued_by)
    select g.id, g.tenant_id, greatest(coalesce(k.priority, 60) - p_ahead, 0), coalesce(k.max_attempts, 15), 1, 'outbox_dispatch', g.payload, 'system:outbox_dispatch'
      from unnest(p_ids, p_tenants, p_payloads) with ordinality g(id, tenant_id, payload, ord)
      left join mdm.aa_job_kind k on k.name = 'outbox_dispatch'
     order by g.ord
    returning id, tenant_id)
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id)
  select id, tenant_id, 'job_enqueued', 1, 'outbox_dispatch', 'system:outbox_dispatch' from made
$$;

-- One fan-out job a tenant and transaction, by whatever way the rows come in. What this transaction has enqueued already stands in a setting
-- of its own, which ends with it and goes back with a savepoint.
create function mdm.enqueue_fan_out() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  told text := coalesce(current_setting('mdm.outbox_told', true), '');
  fresh uuid[] := (select array_agg(distinct a.tenant_id) from added a where a.status = 'pending' and strpos(told, a.tenant_id::text) = 0);
begin
  if fresh is null then
    return null;
  end if;
  perform mdm.enqueue_dispatch(array(select mdm.uuid_v7() from unnest(fresh)), fresh, array(select '{"phase": "fanout"}'::jsonb from unnest(fresh)), 1);
  perform set_config('mdm.outbox_told', told || array_to_string(fresh, ','), true);
  if coalesce(current_setting('mdm.outbox_notify', true), '') <> 'off' then
    perform pg_notify('mdm_wakeup', '');
  end if;
  return null;
end $$;
create trigger aa_outbox_event_fan_out after insert on mdm.aa_outbox_event
  referencing new table as added for each statement execute function mdm.enqueue_fan_out();

-- `*` is all; `entity.*` is all that begins with `entity.`.
create function mdm.is_event_wanted(wanted text[], event_type text) returns boolean immutable parallel safe language sql as $$
  select event_type = any (wanted) or '*' = any (wanted)
      or exists (select from unnest(wanted) w where right(w, 2) = '.*' and starts_with(event_type, left(w, -1)))
$$;

-- Publishes an event in the caller's transaction and answers its id. Where no endpoint of the tenant wants the type (active or not), nothing
-- is written and the answer is null: one probe of an index. Whoever wants the row in any case inserts it into mdm.aa_outbox_event.
-- `notify => false`: no NOTIFY at the commit (it serialises commits); the job is then found by the next poll or wake-up.
create function mdm.publish_event(tenant uuid, event_type text, aggregate_type text, aggregate_id text, payload jsonb, notify boolean default true)
returns uuid language plpgsql as $$
#variable_conflict use_variable
declare
  published uuid;
begin
  if not exists (select from mdm.aa_webhook_subscription s where s.tenant_id = tenant and mdm.is_event_wanted(s.event_types, event_type)) then
    return null;
  end if;
  perform set_config('mdm.outbox_notify', case when notify then 'on' else 'off' end, true);
  insert into mdm.aa_outbox_event (tenant_id, event_type, aggregate_type, aggregate_id, payload)
  values (tenant, event_type, aggregate_type, aggregate_id, payload) returning event_id into published;
  perform set_config('mdm.outbox_notify', 'on', true);
  return published;
end $$;

-- Gives each of these pending deliveries a job.
create function mdm.enqueue_deliveries(p_deliveries uuid[]) returns void language plpgsql as $$
declare
  jobs uuid[];
  tenants uuid[];
  payloads jsonb[];
begin
  with given as materialized (
    select d.id, d.event_pk, mdm.uuid_v7() as job_id from mdm.aa_webhook_delivery d where d.id = any (p_deliveries) and d.status = 'pending' order by d.event_pk),
  linked as (
    update mdm.aa_webhook_delivery d set job_id = g.job_id from given g where d.id = g.id and d.status = 'pending'
    returning d.id, d.tenant_id, g.job_id, d.event_pk)
  select array_agg(job_id order by event_pk), array_agg(tenant_id order by event_pk), array_agg(jsonb_build_object('phase', 'deliver', 'delivery_id', id) order by event_pk)
    into jobs, tenants, payloads from linked;
  if jobs is not null then
    perform mdm.enqueue_dispatch(jobs, tenants, payloads, 0);
  end if;
end $$;

-- Starts the next delivery of an ordered endpoint, unless one is under way; answers whether it did. After a dead one it goes on, or, where
-- on_dlq says so, waits until that is replayed or discarded.
create function mdm.chain_webhook(p_subscription uuid) returns boolean language plpgsql as $$
declare
  endpoint record;
  next record;
begin
  select s.head_delivery_id, s.on_dlq into endpoint from mdm.aa_webhook_subscription s
   where s.id = p_subscription and s.ordered and s.status = 'active' for no key update;
  if not found or exists (select from mdm.aa_webhook_delivery d where d.id = endpoint.head_delivery_id and d.status = 'pending' and d.job_id is not null) then
    return false;
  end if;
  select d.id, d.event_pk into next from mdm.aa_webhook_delivery d
   where d.subscription_id = p_subscription and d.status <> 'delivered' and d.status = 'pending' and d.job_id is null order by d.event_pk limit 1;
  if not found or endpoint.on_dlq = 'block' and exists (
       select from mdm.aa_webhook_delivery d
        where d.subscription_id = p_subscription and d.status <> 'delivered' and d.status = 'dead' and d.event_pk < next.event_pk) then
    return false;
  end if;
  perform mdm.enqueue_deliveries(array[next.id]);
  update mdm.aa_webhook_subscription set head_delivery_id = next.id where id = p_subscription;
  return true;
end $$;

-- A delivery follows its job. Events of a fan-out job that died stay pending: the tenant's next one takes them, or cleanup_jobs makes one.
create function mdm.follow_outbox_dispatch(job mdm.aa_job, move text) returns void language plpgsql as $$
declare
  moved record;
begin
  if job.payload ->> 'phase' is distinct from 'deliver' then
    return;
  end if;
  if move = 'replay' then
    update mdm.aa_webhook_delivery d set status = 'pending' where d.id::text = job.payload ->> 'delivery_id' and d.job_id = job.id and d.status in ('dead', 'cancelled', 'held');
    return;
  end if;
  update mdm.aa_webhook_delivery d
     set status = case when move = 'dlq' then 'dead' else 'cancelled' end, last_error = coalesce(d.last_error, job.last_error, job.stop_reason)
   where d.id::text = job.payload ->> 'delivery_id' and d.job_id = job.id and d.status in ('pending', 'held', 'dead')
  returning d.subscription_id into moved;
  if found and mdm.chain_webhook(moved.subscription_id) then
    perform pg_notify('mdm_wakeup', '');
  end if;
end $$;

-- What happens to a job beyond the ordinary is told to the endpoints that want it. Not of this kind's own jobs: each death would make another.
create function mdm.publish_job_move(job mdm.aa_job, move text) returns void language sql as $$
  select mdm.publish_event(job.tenant_id,
    case move when 'dlq' then 'job.dead_lettered' when 'stop' then 'job.stopped' when 'cancel' then 'job.cancelled' when 'replay' then 'job.replayed' else 'job.discarded' end,
    'job', job.id::text,
    jsonb_build_object('job_id', job.id, 'kind', job.job_kind, 'status', case when move = 'discard' then 'discarded' else job.status::text end, 'attempts', job.attempts,
                       'max_attempts', job.max_attempts, 'error', left(job.last_error, 1000), 'reason', job.stop_reason, 'correlation_id', job.correlation_id,
                       'tags', to_jsonb(coalesce(job.tags, '{}')), 'created_at', job.created_at))
$$;

create or replace function mdm.follow_job() returns trigger language plpgsql as $$
declare
  job mdm.aa_job := case when tg_op = 'DELETE' then old else new end;
  follower text := 'follow_' || job.job_kind;
  move text;
begin
  if tg_op = 'UPDATE' and new.status = old.status then
    return null;
  end if;
  move := case when tg_op = 'DELETE' then 'discard' when new.status = 'dlq' then 'dlq'
               when new.status = 'failed' then case when new.stop_cause = 'cancelled' then 'cancel' else 'stop' end else 'replay' end;
  if to_regprocedure(format('mdm.%I(mdm.aa_job, text)', follower)) is not null then
    execute format('select mdm.%I($1, $2)', follower) using job, move;
  end if;
  if job.job_kind <> 'outbox_dispatch' then
    perform mdm.publish_job_move(job, move);
  end if;
  return null;
end $$;
