-- Enqueueing at a third less: rows went through nine stores on their way into the two tables, and a single one through five statements.

-- Without these, each page that is full is searched for equal entries before it is split (0.3 us a job): these have none, each holds the job's id.
-- Locks: SHARE UPDATE EXCLUSIVE, for an instant; no row is touched, what is indexed stays as it is.
alter index mdm.aa_job_by_tenant set (deduplicate_items = off);
alter index mdm.aa_job_by_kind set (deduplicate_items = off);

-- As before, but a payload that is shorter than 33 pairs of brackets is not searched for them.
create or replace function mdm.enqueue_problem(
  kind text, known boolean, tenant_id uuid, tenant_key text, tenant_status text, payload jsonb, payload_text text,
  priority int, max_attempts int, available_at timestamptz, key text, extra jsonb
) returns text stable language sql as $$
  select case
    when not known then format('unknown kind %L; known: %s', kind, mdm.known_kinds())
    when tenant_status is null then format('unknown tenant %L; create it first', tenant_id)
    when tenant_status <> 'active' then format('tenant %L is closed; open it first', tenant_key)
    when payload is null or jsonb_typeof(payload) <> 'object' then 'payload must be a JSON object'
    when octet_length(payload_text) > 65536 then format('payload has %s bytes; at most 65536', octet_length(payload_text))
    -- Fewer than 33 opening brackets cannot be deeper than 32 levels: the walk is for the rare rest.
    when octet_length(payload_text) > 65 and length(payload_text) - length(translate(payload_text, '[{', '')) > 32
         and jsonb_path_exists(payload, 'strict $.**{32 to last} ? (@.type() == "object" || @.type() == "array")') then
      'payload is nested deeper than 32 levels'
    when priority not between 0 and 1000 then format('priority %s is outside 0 to 1000', priority)
    when max_attempts not between 1 and 100 then format('max_attempts %s is outside 1 to 100', max_attempts)
    when available_at is not null and not (isfinite(available_at) and available_at >= '1970-01-01T00:00:00Z' and available_at <= now() + interval '366 days') then
      'available_at must lie between 1970 and 366 days from now'
    when char_length(key) not between 1 and 255 then 'idempotency_key must have 1 to 255 characters'
    -- As a CASE: `null and f()` calls f.
    when case when extra ? 'tags' then not mdm.are_tags(extra -> 'tags') end then 'tags: at most 16 of 1 to 64 characters'
    when char_length(extra ->> 'correlation_id') > 200 then 'correlation_id has more than 200 characters'
  end
$$;

create function mdm.refuse_job(ord int, problem text) returns boolean language plpgsql as $$
begin
  raise exception 'job % of the batch: %', ord, problem using errcode = 'invalid_parameter_value', detail = (ord - 1)::text;
end $$;

-- A batch is written and told in the order in which it was given, and of its problems the first is named: each look at the input is sorted for that.

-- The rows of a batch that comes as columns, with the defaults of their kinds, and what is wrong with each. These two are written so that the
-- planner puts them into the statement: their rows are never stored for themselves.
-- `stem` is a uuid v7 without its last 24 bits, which are the row's place: a thousand ids of their own cost 1.2 us a job.
-- Kinds and tenants are looked up once for each pair of them: for each row it costs 1 us a job, compared with every tenant a multiple.
create function mdm.enqueue_input(
  stem text, p_tenants uuid[], p_kinds text[], p_payloads text[], p_priorities int[], p_available_at timestamptz[], p_max_attempts int[],
  p_keys text[], p_replaces boolean[], p_extras jsonb[], p_actor text, p_request_id text, p_after_ms double precision[]
) returns table (
  ord int, id uuid, tenant_id uuid, job_kind text, payload jsonb, priority int, max_attempts int, available_at timestamptz, deferred boolean,
  key text, replaces boolean, tags jsonb, correlation_id text, trace_context text, actor text, request_id text, problem text
) stable language sql as $$
  select g.ord, g.id, g.tenant_id, g.job_kind, g.payload, coalesce(g.priority, home.priority), coalesce(g.max_attempts, home.max_attempts),
         coalesce(g.available_at, now()), coalesce(g.available_at > now(), false), g.key, coalesce(g.replaces, false), g.extra -> 'tags',
         g.extra ->> 'correlation_id', g.extra ->> 'trace_context', coalesce(g.extra ->> 'actor', p_actor), coalesce(g.extra ->> 'request_id', p_request_id),
         mdm.enqueue_problem(g.job_kind, home.kind is not null or g.tenant_id is null, g.tenant_id, home.tenant_key, home.status, g.payload, g.payload_text,
                             g.priority, g.max_attempts, g.available_at, g.key, g.extra)
    from (select i.ord, (stem || to_hex(8388608 + i.ord))::uuid as id, i.tenant_id, i.job_kind, i.payload_text, i.payload_text::jsonb as payload,
                 i.priority, i.max_attempts, coalesce(i.available_at, now() + i.after_ms * interval '1 millisecond') as available_at, i.key, i.replaces, i.extra
            -- Side by side in the select list they are read as they come; in FROM each column would be stored first.
            from (select generate_series(1, cardinality(p_kinds)) as ord, unnest(p_tenants) as tenant_id, unnest(p_kinds) as job_kind,
                         unnest(p_payloads) as payload_text, unnest(p_priorities) as priority, unnest(p_max_attempts) as max_attempts,
                         unnest(p_available_at) as available_at, unnest(p_after_ms) as after_ms, unnest(p_keys) as key, unnest(p_replaces) as replaces,
                         unnest(p_extras) as extra) i
          offset 0) g
    left join (select p.tenant_id, p.job_kind, t.tenant_key, t.status, k.name as kind, k.priority, k.max_attempts
                 from (select distinct i.tenant_id, i.job_kind
                         from (select unnest(p_tenants) as tenant_id, unnest(p_kinds) as job_kind) i) p
                 left join mdm.aa_job_kind k on k.name = p.job_kind
                 left join mdm.aa_tenant t on t.id = p.tenant_id) home
      on home.tenant_id = g.tenant_id and home.job_kind = g.job_kind
$$;

-- The same of a batch that comes as JSON: each element has the fields of mdm.enqueue_job.
create function mdm.enqueue_input(stem text, jobs jsonb) returns table (
  ord int, id uuid, tenant_id uuid, job_kind text, payload jsonb, priority int, max_attempts int, available_at timestamptz, deferred boolean,
  key text, replaces boolean, tags jsonb, correlation_id text, trace_context text, problem text
) stable language sql as $$
  with given as materialized (
    select i.ord::int as ord, (stem || to_hex(8388608 + i.ord))::uuid as id, coalesce(i.job ->> 'tenant', 'default') as tenant, i.job ->> 'kind' as job_kind,
           i.job -> 'payload' as payload, (i.job -> 'payload')::text as payload_text, (i.job ->> 'priority')::int as priority,
           (i.job ->> 'max_attempts')::int as max_attempts, (i.job ->> 'available_at')::timestamptz as available_at,
           i.job ->> 'idempotency_key' as key, i.job ->> 'on_conflict' as on_conflict, nullif(i.job -> 'tags', 'null') as tags,
           i.job ->> 'correlation_id' as correlation_id, i.job ->> 'trace_context' as trace_context, jsonb_typeof(i.job) as type
      from jsonb_array_elements(jobs) with ordinality i(job, ord))
  select g.ord, g.id, home.id, g.job_kind, g.payload, coalesce(g.priority, home.priority), coalesce(g.max_attempts, home.max_attempts),
         coalesce(g.available_at, now()), coalesce(g.available_at > now(), false), g.key, coalesce(g.on_conflict = 'update', false), g.tags,
         g.correlation_id, g.trace_context,
         case
           when g.type <> 'object' or g.on_conflict not in ('ignore', 'update') or jsonb_typeof(g.tags) <> 'array' then
             'must be an object; on_conflict is ''ignore'' or ''update''; tags is an array'
           when home.id is null and g.job_kind is not null then format('unknown tenant %L; create it first', g.tenant)
           -- As a CASE: `null and f()` calls f.
           when case when g.tags is not null then not mdm.are_tags(g.tags) end then 'tags: at most 16 of 1 to 64 characters'
           when char_length(g.correlation_id) > 200 then 'correlation_id has more than 200 characters'
           else mdm.enqueue_problem(g.job_kind, home.kind is not null, home.id, home.tenant_key, home.status, g.payload, g.payload_text,
                                    g.priority, g.max_attempts, g.available_at, g.key, null)
         end
    from given g
    left join (select p.tenant, p.job_kind, coalesce(t.id, named.id) as id, coalesce(t.tenant_key, named.tenant_key) as tenant_key,
                      coalesce(t.status, named.status) as status, k.name as kind, k.priority, k.max_attempts
                 from (select distinct given.tenant, given.job_kind from given) p
                 left join mdm.aa_job_kind k on k.name = p.job_kind
                 left join mdm.aa_tenant t on t.tenant_key = p.tenant
                 -- By id: what mdm.tenant_of does, which as a call costs 10 us a tenant.
                 left join mdm.aa_tenant named
                   on named.id = case when t.id is null then substring(p.tenant from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid end) home
      on home.tenant = g.tenant and home.job_kind = g.job_kind
$$;


-- Writes one job and its journal row, or says that its key is there. No outcome: it is to be replaced, or something is wrong with it.
create function mdm.enqueue_new(
  p_tenant_key text, p_tenant_id uuid, p_kind text, p_payload jsonb, p_payload_text text, p_priority int, p_available_at timestamptz,
  p_max_attempts int, p_key text, p_replaces boolean, p_extra jsonb, p_actor text, p_request_id text,
  out id uuid, out outcome text, out tenant_id uuid, out priority int, out max_attempts int, out available_at timestamptz
) language plpgsql as $$
#variable_conflict use_column
declare
  is_deferred boolean := coalesce(p_available_at > now(), false);
  given_tags text[];
begin
  if p_extra ? 'tags' and jsonb_typeof(p_extra -> 'tags') = 'array' then
    given_tags := array(select jsonb_array_elements_text(p_extra -> 'tags'));
  end if;
  -- What is checked is read by the statement that writes: a tenant that is just going is waited for, and then missed.
  insert into mdm.aa_job as j (tenant_id, available_at, priority, max_attempts, revision, deferred, job_kind, payload,
                               idempotency_key, tags, correlation_id, trace_context, enqueued_by)
  select t.id, coalesce(p_available_at, now()), coalesce(p_priority, k.priority), coalesce(p_max_attempts, k.max_attempts), 1, is_deferred, p_kind, p_payload,
         p_key, given_tags, p_extra ->> 'correlation_id', p_extra ->> 'trace_context', p_actor
    from mdm.aa_tenant t, mdm.aa_job_kind k
   where t.id = coalesce(p_tenant_id, (select t.id from mdm.aa_tenant t where t.tenant_key = p_tenant_key)) and k.name = p_kind
     and mdm.enqueue_problem(p_kind, true, t.id, t.tenant_key, t.status, p_payload, p_payload_text, p_priority, p_max_attempts, p_available_at, p_key, p_extra) is null
  on conflict (tenant_id, job_kind, idempotency_key) where idempotency_key is not null do nothing
  returning j.id, 'created', j.tenant_id, j.priority, j.max_attempts, j.available_at
  into enqueue_new.id, enqueue_new.outcome, enqueue_new.tenant_id, enqueue_new.priority, enqueue_new.max_attempts, enqueue_new.available_at;
  if found then
    -- As one statement with a CTE the two take longer to start.
    insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, request_id, payload)
    values (enqueue_new.id, enqueue_new.tenant_id, 'job_enqueued', 1, p_kind, p_actor, p_request_id,
            case when is_deferred then jsonb_build_object('available_at', p_available_at) end);
  elsif p_key is not null and p_replaces is not true then
    select j.id, case when j.payload is distinct from p_payload then 'duplicate_mismatch' else 'duplicate' end
      into enqueue_new.id, enqueue_new.outcome
      from mdm.aa_tenant t, mdm.aa_job_kind k, mdm.aa_job j
     where t.id = coalesce(p_tenant_id, (select t.id from mdm.aa_tenant t where t.tenant_key = p_tenant_key)) and k.name = p_kind
       and mdm.enqueue_problem(p_kind, true, t.id, t.tenant_key, t.status, p_payload, p_payload_text, p_priority, p_max_attempts, p_available_at, p_key, p_extra) is null
       and j.tenant_id = t.id and j.job_kind = p_kind and j.idempotency_key = p_key;
  end if;
end $$;

-- (nothing) -> pending for each row, or the answer that its key existed. Every row gets one answer; `ord` is its place:
-- created, duplicate, updated, or duplicate_mismatch (the key exists with another payload and was left alone).
-- What stands after `outcome` is there for `created` only, as stored.
-- Rows with keys go in ordered by (tenant, kind, key), so that bulks cannot deadlock one another. A bad row raises and nothing is written.
-- `extra` holds what is rare: tags, correlation_id, trace_context; and, where rows of several callers share a statement, actor and request_id.
-- `after_ms` is a time from now by the database's clock, where `available_at` is null. Arrays may be shorter: the rest is null.
create or replace function mdm.enqueue_batch(
  p_tenants uuid[], p_kinds text[], p_payloads text[], p_priorities int[], p_available_at timestamptz[], p_max_attempts int[],
  p_keys text[], p_replaces boolean[], p_extras jsonb[], p_actor text, p_request_id text, p_after_ms double precision[] default '{}'
) returns table (ord int, job_id uuid, outcome text, payload jsonb, priority int, max_attempts int, available_at timestamptz)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  stem text := left(mdm.uuid_v7()::text, 30);
  created int;
  new record;
begin
  -- A single one takes 60 us less so. What it does not write is found out below.
  if cardinality(p_kinds) = 1 then
    payload := p_payloads[1];
    new := mdm.enqueue_new(
      null, p_tenants[1], p_kinds[1], payload, p_payloads[1], p_priorities[1],
      coalesce(p_available_at[1], now() + p_after_ms[1] * interval '1 millisecond'), p_max_attempts[1], p_keys[1], p_replaces[1], p_extras[1],
      coalesce(p_extras[1] ->> 'actor', p_actor), coalesce(p_extras[1] ->> 'request_id', p_request_id));
    if new.outcome is not null then
      ord := 1;
      job_id := new.id;
      outcome := new.outcome;
      payload := case when outcome = 'created' then payload end;
      priority := new.priority;
      max_attempts := new.max_attempts;
      available_at := new.available_at;
      return next;
    else
      return query
        select e.ord, e.job_id, e.outcome, null::jsonb, null::int, null::int, null::timestamptz
          from mdm.enqueue_rest(array[1], p_tenants, p_kinds, p_payloads, p_priorities, p_available_at, p_max_attempts, p_keys, p_replaces, p_extras,
                                p_actor, p_request_id, p_after_ms) e;
    end if;
    return;
  end if;
  -- Without keys there is nothing to conflict with, nor an order to keep: that saves the sort, and a mark and its removal on each row.
  if coalesce(cardinality(array_remove(p_keys, null)), 0) = 0 then
    return query
      with input as materialized (
        select i.*
          from (select i.*
                  from mdm.enqueue_input(stem, p_tenants, p_kinds, p_payloads, p_priorities, p_available_at, p_max_attempts, '{}', '{}', p_extras,
                                                p_actor, p_request_id, p_after_ms) i
                 order by i.ord offset 0) i
         where i.problem is null or mdm.refuse_job(i.ord, i.problem)),
      placed as (
        insert into mdm.aa_job (id, tenant_id, available_at, priority, max_attempts, revision, deferred, job_kind, payload,
                                tags, correlation_id, trace_context, enqueued_by)
        select i.id, i.tenant_id, i.available_at, i.priority, i.max_attempts, 1, i.deferred, i.job_kind, i.payload,
               case when i.tags is not null then array(select jsonb_array_elements_text(i.tags)) end,
               i.correlation_id, i.trace_context, i.actor
          from input i),
      journaled as (
        insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, request_id, payload)
        select i.id, i.tenant_id, 'job_enqueued', 1, i.job_kind, i.actor, i.request_id,
               case when i.deferred then jsonb_build_object('available_at', i.available_at) end
          from input i)
      select i.ord, i.id, 'created', i.payload, i.priority, i.max_attempts, i.available_at from input i;
    return;
  end if;
  return query
    with input as materialized (
      select i.*
        from (select i.*
                from mdm.enqueue_input(stem, p_tenants, p_kinds, p_payloads, p_priorities, p_available_at, p_max_attempts, p_keys, '{}', p_extras,
                                              p_actor, p_request_id, p_after_ms) i
               order by i.ord offset 0) i
       where i.problem is null or mdm.refuse_job(i.ord, i.problem)),
    placed as (
      insert into mdm.aa_job as j (id, tenant_id, available_at, priority, max_attempts, revision, deferred, job_kind, payload,
                                   idempotency_key, tags, correlation_id, trace_context, enqueued_by)
      select i.id, i.tenant_id, i.available_at, i.priority, i.max_attempts, 1, i.deferred, i.job_kind, i.payload, i.key,
             case when i.tags is not null then array(select jsonb_array_elements_text(i.tags)) end,
             i.correlation_id, i.trace_context, i.actor
        from input i
       order by i.tenant_id, i.job_kind, i.key, i.ord
      on conflict (tenant_id, job_kind, idempotency_key) where idempotency_key is not null do nothing
      returning j.id),
    journaled as (
      insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, request_id, payload)
      select i.id, i.tenant_id, 'job_enqueued', 1, i.job_kind, i.actor, i.request_id,
             case when i.deferred then jsonb_build_object('available_at', i.available_at) end
        from input i join placed p on p.id = i.id
       order by i.ord)
    select i.ord, i.id, 'created', i.payload, i.priority, i.max_attempts, i.available_at
      from input i join placed p on p.id = i.id;
  get diagnostics created = row_count;
  if created < cardinality(p_kinds) then
    return query
      select e.ord, e.job_id, e.outcome, null::jsonb, null::int, null::int, null::timestamptz
        from mdm.enqueue_rest(
               array(select i from generate_series(1, cardinality(p_kinds)) i
                      where not exists (select from mdm.aa_job j where j.id = (stem || to_hex(8388608 + i))::uuid)),
               p_tenants, p_kinds, p_payloads, p_priorities, p_available_at, p_max_attempts, p_keys, p_replaces, p_extras, p_actor, p_request_id, p_after_ms) e;
  end if;
end $$;

-- The rows of a batch whose key was there; `open` holds their places.
create or replace function mdm.enqueue_rest(
  open int[], p_tenants uuid[], p_kinds text[], p_payloads text[], p_priorities int[], p_available_at timestamptz[], p_max_attempts int[],
  p_keys text[], p_replaces boolean[], p_extras jsonb[], p_actor text, p_request_id text, p_after_ms double precision[]
) returns table (ord int, job_id uuid, outcome text)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  stem text := left(mdm.uuid_v7()::text, 30);
  again int[];
  first boolean := true;
  r record;
begin
  if cardinality(p_replaces) < cardinality(p_kinds) or (false = any (p_replaces)) is not false then
    -- As a rule the job is there and is left alone: to look is a third of the price of trying to write.
    for r in
      with input as materialized (
        select i.*
          from mdm.enqueue_input(stem, p_tenants, p_kinds, p_payloads, p_priorities, p_available_at, p_max_attempts, p_keys, p_replaces, p_extras,
                                 p_actor, p_request_id, p_after_ms) i)
      select i.ord, j.id as job_id, case when j.payload is distinct from i.payload then 'duplicate_mismatch' else 'duplicate' end as outcome
        from input i
        join unnest(open) o(ord) on o.ord = i.ord
        -- The limit keeps it a look for each key: a plan made while there are few jobs would read them all.
        left join lateral (
          select j.id, j.payload from mdm.aa_job j
           where i.problem is null and not i.replaces and j.tenant_id = i.tenant_id and j.job_kind = i.job_kind and j.idempotency_key = i.key
           limit 1) j on true
    loop
      if r.job_id is null then
        again := again || r.ord;
      else
        ord := r.ord;
        job_id := r.job_id;
        outcome := r.outcome;
        return next;
      end if;
    end loop;
    open := again;
    again := null;
  end if;
  while open is not null loop
    for r in
      with given as materialized (
        select i.*
          from mdm.enqueue_input(stem, p_tenants, p_kinds, p_payloads, p_priorities, p_available_at, p_max_attempts, p_keys, p_replaces, p_extras,
                                 p_actor, p_request_id, p_after_ms) i),
      input as materialized (
        select i.*,
               -- Of equal keys the first is written by the first pass; what replaces it has to see it: the last of those is written by the second.
               (case when first then min(i.ord) over twins else coalesce(max(i.ord) filter (where i.replaces) over twins, min(i.ord) over twins) end)::int as writer
          from given i
          join unnest(open) o(ord) on o.ord = i.ord
        window twins as (partition by i.tenant_id, i.job_kind, i.key)),
      placed as (
        insert into mdm.aa_job as j (id, tenant_id, available_at, priority, max_attempts, revision, deferred, job_kind, payload,
                                     idempotency_key, tags, correlation_id, trace_context, enqueued_by)
        select id, tenant_id, available_at, priority, max_attempts, 1, deferred, job_kind, payload, key,
               case when tags is not null then array(select jsonb_array_elements_text(tags)) end, correlation_id, trace_context, actor
          from input
         where problem is null and (key is null or ord = writer)
         order by tenant_id, job_kind, key, ord
        on conflict (tenant_id, job_kind, idempotency_key) where idempotency_key is not null
        do update set payload = excluded.payload, priority = excluded.priority, available_at = excluded.available_at,
                      deferred = excluded.deferred, revision = j.revision + 1
         where j.status = 'pending'
           and (excluded.tenant_id, excluded.job_kind, excluded.idempotency_key) in
               (select tenant_id, job_kind, key from input where replaces and ord = writer and key is not null)
        returning j.id, j.tenant_id, j.job_kind, j.idempotency_key as key, j.revision, j.available_at, j.deferred),
      journaled as (
        insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, request_id, payload)
        select p.id, p.tenant_id, (case when i.id is not null then 'job_enqueued' else 'job_updated' end)::mdm.audit_action,
               p.revision, p.job_kind, coalesce(i.actor, by.caller ->> 'actor', p_actor), coalesce(i.request_id, by.caller ->> 'request_id', p_request_id),
               case when p.deferred then jsonb_build_object('available_at', p.available_at) end
          from placed p
          left join input i on i.id = p.id
          -- Whose update it was is looked for only where several callers share the statement (as a join it tripled the time of a bulk).
          cross join lateral (
            select case when i.id is null and p_actor is null then
                     (select jsonb_build_object('actor', w.actor, 'request_id', w.request_id)
                        from input w where w.ord = w.writer and w.tenant_id = p.tenant_id and w.job_kind = p.job_kind and w.key = p.key)
                   end as caller) by
         order by i.ord)
      select i.ord, i.problem, coalesce(mine.id, twin.id, existing.id) as job_id,
             case
               when mine.id is not null then 'created'
               when i.key is not null and i.replaces and i.ord <> i.writer and (first or twin.id is not null) then case when not first then 'updated' end
               when twin.id is not null and i.ord = i.writer then 'updated'
               when coalesce(written.payload, existing.payload) is distinct from i.payload then 'duplicate_mismatch'
               else 'duplicate'
             end as outcome
        from input i
        left join placed mine on mine.id = i.id
        left join placed twin on mine.id is null and twin.tenant_id = i.tenant_id and twin.job_kind = i.job_kind and twin.key = i.key
        left join input written on twin.id is not null and written.ord = i.writer
        left join lateral (
          select j.id, j.payload from mdm.aa_job j
           where mine.id is null and twin.id is null and j.tenant_id = i.tenant_id and j.job_kind = i.job_kind and j.idempotency_key = i.key
           limit 1) existing on true
       order by i.ord
    loop
      if r.problem is not null then
        perform mdm.refuse_job(r.ord, r.problem);
      end if;
      if r.job_id is null or r.outcome is null then
        -- Lost a race to a row that this statement's snapshot could not see (without another look half of all races got no id), or replaces a twin.
        again := again || r.ord;
      else
        ord := r.ord;
        job_id := r.job_id;
        outcome := r.outcome;
        return next;
      end if;
    end loop;
    open := again;
    again := null;
    first := false;
  end loop;
end $$;

-- Enqueues many in the caller's transaction, in order; each element takes the fields of mdm.enqueue_job.
create or replace function mdm.enqueue_jobs(jobs jsonb, notify boolean default true) returns table (job_id uuid, outcome text)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  stem text := left(mdm.uuid_v7()::text, 30);
  caller text := 'sql:' || session_user;
  created record;
  given record;
begin
  if jsonb_typeof(jobs) is distinct from 'array' then
    raise exception 'jobs must be a JSON array of objects' using errcode = 'invalid_parameter_value';
  end if;
  if jobs = '[]' then
    return;
  end if;
  if notify then
    perform pg_notify('mdm_wakeup', '');
  end if;
  if not jobs @? '$[*].idempotency_key' then
    return query
      with input as materialized (
        select i.* from (select i.* from mdm.enqueue_input(stem, jobs) i order by i.ord offset 0) i where i.problem is null or mdm.refuse_job(i.ord, i.problem)),
      placed as (
        insert into mdm.aa_job (id, tenant_id, available_at, priority, max_attempts, revision, deferred, job_kind, payload,
                                tags, correlation_id, trace_context, enqueued_by)
        select i.id, i.tenant_id, i.available_at, i.priority, i.max_attempts, 1, i.deferred, i.job_kind, i.payload,
               case when i.tags <> '[]' then array(select jsonb_array_elements_text(i.tags)) end, i.correlation_id, i.trace_context, caller
          from input i),
      journaled as (
        insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, payload)
        select i.id, i.tenant_id, 'job_enqueued', 1, i.job_kind, caller, case when i.deferred then jsonb_build_object('available_at', i.available_at) end
          from input i)
      select i.id, 'created' from input i;
    return;
  end if;
  with input as materialized (
    select i.* from (select i.* from mdm.enqueue_input(stem, jobs) i order by i.ord offset 0) i where i.problem is null or mdm.refuse_job(i.ord, i.problem)),
  placed as (
    insert into mdm.aa_job as j (id, tenant_id, available_at, priority, max_attempts, revision, deferred, job_kind, payload,
                                 idempotency_key, tags, correlation_id, trace_context, enqueued_by)
    select i.id, i.tenant_id, i.available_at, i.priority, i.max_attempts, 1, i.deferred, i.job_kind, i.payload,
           i.key, case when i.tags <> '[]' then array(select jsonb_array_elements_text(i.tags)) end, i.correlation_id, i.trace_context, caller
      from input i
     order by i.tenant_id, i.job_kind, i.key, i.ord
    on conflict (tenant_id, job_kind, idempotency_key) where idempotency_key is not null do nothing
    returning j.id),
  journaled as (
    insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, payload)
    select i.id, i.tenant_id, 'job_enqueued', 1, i.job_kind, caller, case when i.deferred then jsonb_build_object('available_at', i.available_at) end
      from input i join placed p on p.id = i.id
     order by i.ord)
  select array_agg(i.ord) as ords, array_agg(i.id) as ids into created from input i join placed p on p.id = i.id;
  if cardinality(created.ords) = jsonb_array_length(jobs) then
    return query select c.id, 'created' from (select unnest(created.ords) as ord, unnest(created.ids) as id) c order by c.ord;
    return;
  end if;
  select array_agg(i.tenant_id order by i.ord) as tenants, array_agg(i.job_kind order by i.ord) as kinds, array_agg(i.payload::text order by i.ord) as payloads,
         array_agg(i.priority order by i.ord) as priorities, array_agg(i.available_at order by i.ord) as available_at,
         array_agg(i.max_attempts order by i.ord) as max_attempts, array_agg(i.key order by i.ord) as keys, array_agg(i.replaces order by i.ord) as replaces,
         array_agg(case when i.tags <> '[]' or i.correlation_id is not null or i.trace_context is not null then
                     jsonb_strip_nulls(jsonb_build_object('tags', nullif(i.tags, '[]'), 'correlation_id', i.correlation_id, 'trace_context', i.trace_context))
                   end order by i.ord) as extras
    into given
    from mdm.enqueue_input(stem, jobs) i;
  return query
    select e.job_id, e.outcome
      from (select unnest(created.ords) as ord, unnest(created.ids) as job_id, 'created' as outcome
            union all
            select r.ord, r.job_id, r.outcome
              from mdm.enqueue_rest(array(select generate_series(1, jsonb_array_length(jobs)) except select unnest(created.ords)),
                                    given.tenants, given.kinds, given.payloads, given.priorities, given.available_at, given.max_attempts, given.keys,
                                    given.replaces, given.extras, caller, null, '{}') r) e
     order by e.ord;
end $$;

-- Enqueues one job in the caller's transaction.
create or replace function mdm.enqueue_job(
  kind text, payload jsonb, tenant text default 'default', idempotency_key text default null, on_conflict text default 'ignore',
  priority int default null, available_at timestamptz default null, max_attempts int default null, tags text[] default '{}',
  correlation_id text default null, notify boolean default true
) returns table (job_id uuid, outcome text) language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_variable
declare
  new record;
  -- What is as long as an id may be one.
  home_id uuid := case when length(tenant) = 36 then mdm.tenant_of(tenant) end;
  caller text := 'sql:' || session_user;
  extra jsonb := case when cardinality(tags) > 0 or correlation_id is not null then
    jsonb_strip_nulls(jsonb_build_object('tags', case when cardinality(tags) > 0 then to_jsonb(tags) end, 'correlation_id', correlation_id)) end;
begin
  if on_conflict not in ('ignore', 'update') then
    raise exception 'on_conflict must be ''ignore'' or ''update'', not %', quote_nullable(on_conflict) using errcode = 'invalid_parameter_value';
  end if;
  if notify then
    perform pg_notify('mdm_wakeup', '');
  end if;
  new := mdm.enqueue_new(tenant, home_id, kind, payload, payload::text, priority, available_at, max_attempts, idempotency_key, on_conflict = 'update', extra,
                         caller, null);
  if new.outcome is not null then
    job_id := new.id;
    outcome := new.outcome;
    return next;
    return;
  end if;
  -- It is to be replaced, or something is wrong with it.
  home_id := mdm.tenant_of(tenant);
  if home_id is null then
    raise exception 'unknown tenant %; create it first', quote_nullable(tenant) using errcode = 'invalid_parameter_value';
  end if;
  return query
    select e.job_id, e.outcome
      from mdm.enqueue_rest(array[1], array[home_id], array[kind], array[payload::text], array[priority], array[available_at], array[max_attempts],
                            array[idempotency_key], array[on_conflict = 'update'], array[extra], caller, null, '{}') e;
end $$;
