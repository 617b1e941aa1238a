-- The one way in. mdm.enqueue_job and mdm.enqueue_jobs are for everyone who shares the database; the service itself calls mdm.enqueue_batch.

-- (nothing) -> pending for each row, or the answer that its key existed. Every row gets one answer, in order of `ord`:
-- created, duplicate, updated, or duplicate_mismatch (the key exists with another payload and was left alone).
-- Rows go in ordered by (tenant, kind, key), so that bulks cannot deadlock one another. A bad row raises and nothing is written.
-- `extra` holds what is rare: tags, correlation_id, trace_context; and, where rows of several callers share a statement, actor and request_id.
create function mdm.enqueue_batch(
  p_tenants uuid[], p_kinds text[], p_payloads text[], p_priorities int[], p_available_at timestamptz[], p_max_attempts int[],
  p_keys text[], p_replaces boolean[], p_extras jsonb[], p_actor text, p_request_id text
) returns table (ord int, job_id uuid, outcome text)
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict use_column
declare
  again int[];
  open int[];
  r record;
begin
  loop
    open := again;
    again := null;
    for r in
      with given as materialized (
        select i.*, i.payload_text::jsonb as payload
          from unnest(p_tenants, p_kinds, p_payloads, p_priorities, p_available_at, p_max_attempts, p_keys, p_replaces, p_extras)
               with ordinality i(tenant_id, job_kind, payload_text, priority, available_at, max_attempts, key, replaces, extra, ord)
         where open is null or i.ord = any (open)),
      input as materialized (
        select i.ord::int as ord, mdm.uuid_v7() as id, i.tenant_id, i.job_kind, i.payload,
               coalesce(i.priority, k.priority) as priority, coalesce(i.max_attempts, k.max_attempts) as max_attempts,
               coalesce(i.available_at, now()) as available_at, coalesce(i.available_at > now(), false) as deferred,
               i.key, coalesce(i.replaces, false) as replaces, i.extra,
               -- Of equal keys the first is written by the first pass; what replaces it has to see it: the last of those is written by the second.
               (case when open is null then min(i.ord) over twins else coalesce(max(i.ord) filter (where i.replaces) over twins, min(i.ord) over twins) end)::int as writer,
               case
                 when k.name is null then
                   format('unknown kind %L; known: %s', i.job_kind, (select string_agg(n.name, ', ' order by n.name) from mdm.aa_job_kind n))
                 when t.id is null then format('unknown tenant %L; create it first', i.tenant_id)
                 when t.status <> 'active' then format('tenant %L is closed; open it first', t.tenant_key)
                 when i.payload is null or jsonb_typeof(i.payload) <> 'object' then 'payload must be a JSON object'
                 when octet_length(i.payload_text) > 65536 then format('payload has %s bytes; at most 65536', octet_length(i.payload_text))
                 -- Fewer than 33 opening brackets cannot be deeper than 32 levels: the walk is for the rare rest.
                 when length(i.payload_text) - length(translate(i.payload_text, '[{', '')) > 32
                      and jsonb_path_exists(i.payload, 'strict $.**{32 to last} ? (@.type() == "object" || @.type() == "array")') then
                   'payload is nested deeper than 32 levels'
                 when i.priority not between 0 and 1000 then format('priority %s is outside 0 to 1000', i.priority)
                 when i.max_attempts not between 1 and 100 then format('max_attempts %s is outside 1 to 100', i.max_attempts)
                 when i.available_at is not null and not (isfinite(i.available_at) and i.available_at >= '1970-01-01T00:00:00Z' and i.available_at <= now() + interval '366 days') then
                   'available_at must lie between 1970 and 366 days from now'
                 when char_length(i.key) not between 1 and 255 then 'idempotency_key must have 1 to 255 characters'
                 when i.extra ? 'tags' and (jsonb_array_length(i.extra -> 'tags') > 16
                      or exists (select from jsonb_array_elements_text(i.extra -> 'tags') g where g is null or char_length(g) not between 1 and 64)) then
                   'tags: at most 16 of 1 to 64 characters'
                 when char_length(i.extra ->> 'correlation_id') > 200 then 'correlation_id has more than 200 characters'
               end as problem
          from given i
          left join mdm.aa_job_kind k on k.name = i.job_kind
          left join mdm.aa_tenant t on t.id = i.tenant_id
        window twins as (partition by i.tenant_id, i.job_kind, i.key)),
      placed as (
        insert into mdm.aa_job as j (id, tenant_id, available_at, priority, max_attempts, revision, deferred, job_kind, payload,
                                     idempotency_key, tags, correlation_id, trace_context, enqueued_by)
        select id, tenant_id, available_at, priority, max_attempts, 1, deferred, job_kind, payload, key,
               case when extra ? 'tags' then array(select jsonb_array_elements_text(extra -> 'tags')) end,
               extra ->> 'correlation_id', extra ->> 'trace_context', coalesce(extra ->> 'actor', p_actor)
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
               p.revision, p.job_kind, coalesce(by.extra ->> 'actor', p_actor), coalesce(by.extra ->> 'request_id', p_request_id),
               case when p.deferred then jsonb_build_object('available_at', p.available_at) end
          from placed p
          left join input i on i.id = p.id
          -- Whose update it was is looked for only where several callers share the statement (as a join it tripled the time of a bulk).
          cross join lateral (
            select case when i.id is null and p_actor is null
                     then (select w.extra from input w where w.ord = w.writer and w.tenant_id = p.tenant_id and w.job_kind = p.job_kind and w.key = p.key)
                     else i.extra end as extra) by
         order by i.ord)
      select i.ord, i.problem, coalesce(mine.id, twin.id, existing.id) as job_id,
             case
               when mine.id is not null then 'created'
               when i.key is not null and i.replaces and i.ord <> i.writer and (open is null or twin.id is not null) then case when open is not null then 'updated' end
               when twin.id is not null and i.ord = i.writer then 'updated'
               when coalesce(written.payload, existing.payload) is distinct from i.payload then 'duplicate_mismatch'
               else 'duplicate'
             end as outcome
        from input i
        left join placed mine on mine.id = i.id
        left join placed twin on mine.id is null and twin.tenant_id = i.tenant_id and twin.job_kind = i.job_kind and twin.key = i.key
        left join input written on twin.id is not null and written.ord = i.writer
        left join mdm.aa_job existing on mine.id is null and twin.id is null and i.key is not null
             and existing.tenant_id = i.tenant_id and existing.job_kind = i.job_kind and existing.idempotency_key = i.key
       order by i.ord
    loop
      if r.problem is not null then
        raise exception 'job % of the batch: %', r.ord, r.problem using errcode = 'invalid_parameter_value', detail = (r.ord - 1)::text;
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
    exit when again is null;
  end loop;
end $$;

-- Who enqueues by SQL names a tenant by key or id: two probes of indexes, where comparing ids as text read every tenant.

create function mdm.tenant_of(tenant text) returns uuid stable parallel safe language sql as $$
  select coalesce((select t.id from mdm.aa_tenant t where t.tenant_key = tenant),
                  (select t.id from mdm.aa_tenant t where t.id = substring(tenant from '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid))
$$;

-- Enqueues many in the caller's transaction, in order; each element takes the fields of mdm.enqueue_job.
create function mdm.enqueue_jobs(jobs jsonb, notify boolean default true)
returns table (job_id uuid, outcome text) language plpgsql as $$
declare
  bad record;
  tenants jsonb;
begin
  if jsonb_typeof(jobs) is distinct from 'array' then
    raise exception 'jobs must be a JSON array of objects' using errcode = 'invalid_parameter_value';
  end if;
  select i.ord, i.job into bad from jsonb_array_elements(jobs) with ordinality i(job, ord)
   where jsonb_typeof(i.job) <> 'object' or coalesce(i.job ->> 'on_conflict', 'ignore') not in ('ignore', 'update')
      or jsonb_typeof(coalesce(i.job -> 'tags', '[]')) not in ('array', 'null') limit 1;
  if found then
    raise exception 'job % of the batch: must be an object; on_conflict is ''ignore'' or ''update''; tags is an array', bad.ord using errcode = 'invalid_parameter_value';
  end if;
  -- Each name is looked up once: compared with every tenant, a bulk for 100 tenants took three times as long.
  tenants := (select jsonb_object_agg(n.name, mdm.tenant_of(n.name))
                from (select distinct coalesce(i.job ->> 'tenant', 'default') as name from jsonb_array_elements(jobs) i(job)) n);
  select i.ord, i.job into bad from jsonb_array_elements(jobs) with ordinality i(job, ord)
   where tenants ->> coalesce(i.job ->> 'tenant', 'default') is null limit 1;
  if found then
    raise exception 'job % of the batch: unknown tenant %; create it first', bad.ord, quote_nullable(bad.job ->> 'tenant') using errcode = 'invalid_parameter_value';
  end if;
  if notify then
    perform pg_notify('mdm_wakeup', '');
  end if;
  return query
    select e.job_id, e.outcome
      from (select array_agg((tenants ->> coalesce(i.job ->> 'tenant', 'default'))::uuid order by i.ord) as tenant_ids, array_agg(i.job ->> 'kind' order by i.ord) as kinds,
                   array_agg((i.job -> 'payload')::text order by i.ord) as payloads, array_agg((i.job ->> 'priority')::int order by i.ord) as priorities,
                   array_agg((i.job ->> 'available_at')::timestamptz order by i.ord) as available_at, array_agg((i.job ->> 'max_attempts')::int order by i.ord) as max_attempts,
                   array_agg(i.job ->> 'idempotency_key' order by i.ord) as keys, array_agg(coalesce(i.job ->> 'on_conflict', 'ignore') = 'update' order by i.ord) as replaces,
                   array_agg(jsonb_strip_nulls(jsonb_build_object('tags', case when i.job -> 'tags' <> '[]' then i.job -> 'tags' end, 'correlation_id', i.job ->> 'correlation_id', 'trace_context', i.job ->> 'trace_context')) order by i.ord) as extras
              from jsonb_array_elements(jobs) with ordinality i(job, ord)) a
      cross join lateral mdm.enqueue_batch(a.tenant_ids, a.kinds, a.payloads, a.priorities, a.available_at, a.max_attempts, a.keys, a.replaces, a.extras, 'sql:' || session_user, null) e
     where a.tenant_ids is not null
     order by e.ord;
end $$;

-- Enqueues one job in the caller's transaction.
create function mdm.enqueue_job(
  kind text, payload jsonb, tenant text default 'default', idempotency_key text default null, on_conflict text default 'ignore',
  priority int default null, available_at timestamptz default null, max_attempts int default null, tags text[] default '{}',
  correlation_id text default null, notify boolean default true
) returns table (job_id uuid, outcome text) language plpgsql as $$
#variable_conflict use_variable
declare
  tenant_id uuid := mdm.tenant_of(tenant);
begin
  if tenant_id is null then
    raise exception 'unknown tenant %; create it first', quote_nullable(tenant) using errcode = 'invalid_parameter_value';
  end if;
  if on_conflict not in ('ignore', 'update') then
    raise exception 'on_conflict must be ''ignore'' or ''update'', not %', quote_nullable(on_conflict) using errcode = 'invalid_parameter_value';
  end if;
  if notify then
    perform pg_notify('mdm_wakeup', '');
  end if;
  return query
    select e.job_id, e.outcome
      from mdm.enqueue_batch(array[tenant_id], array[kind], array[payload::text], array[priority], array[available_at], array[max_attempts], array[idempotency_key],
             array[on_conflict = 'update'],
             array[jsonb_strip_nulls(jsonb_build_object('tags', case when cardinality(tags) > 0 then to_jsonb(tags) end, 'correlation_id', correlation_id))],
             'sql:' || session_user, null) e;
end $$;
