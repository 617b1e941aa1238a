-- A role that enqueues in its own transactions needs USAGE of the schema and nothing else: these run with the rights of their owner. Without, it had to be
-- granted the tables too, and could have rewritten jobs and journal. Who enqueues is still told by `session_user`.
alter function mdm.enqueue_job(text, jsonb, text, text, text, int, timestamptz, int, text[], text, boolean) security definer set search_path = pg_catalog, pg_temp;
alter function mdm.enqueue_jobs(jsonb, boolean) security definer set search_path = pg_catalog, pg_temp;

-- Publishes an event in the caller's transaction; null: nobody wants it. A tenant that is not there is an error: by mdm.tenant_of a misspelled key is null.
create or replace function mdm.publish_event(tenant uuid, event_type text, aggregate_type text, aggregate_id text, payload jsonb, notify boolean default true)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
  published uuid;
begin
  if tenant is null then
    raise exception 'the event has no tenant: mdm.tenant_of knows none of that key; create it first' using errcode = 'invalid_parameter_value';
  end if;
  if not exists (select from mdm.aa_webhook_subscription s where s.tenant_id = tenant and mdm.is_event_wanted(s.event_types, event_type)) then
    return null;
  end if;
  perform set_config('mdm.outbox_notify', case when notify then 'on' else 'off' end, true);
  insert into mdm.aa_outbox_event (tenant_id, event_type, aggregate_type, aggregate_id, payload)
  values (tenant, event_type, aggregate_type, aggregate_id, payload) returning event_id into published;
  perform set_config('mdm.outbox_notify', 'on', true);
  return published;
end $$;
