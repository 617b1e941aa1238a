-- SQL written by hand (the seed's own claim and recovery text, an operator's psql) moves jobs too. These triggers complete such a move:
-- revision, lease, deferred, end times, the claim row and the journal row with the actor sql:<session_user>.
-- Our own statements always raise revision and insert with revision 1, so that no trigger fires on the hot path.

create function mdm.draw_lease() returns bigint language sql volatile as $$
  select ('x' || encode(substring(uuid_send(gen_random_uuid()) from 9), 'hex'))::bit(64)::bigint & 9223372036854775807
$$;

create function mdm.complete_hand_made_insert() returns trigger language plpgsql as $$
begin
  if new.job_kind !~ '^[a-z0-9_]{1,63}$' then
    raise exception 'job_kind % is no name of a kind: 1 to 63 of a-z, 0-9 and _', quote_nullable(new.job_kind) using errcode = 'check_violation';
  end if;
  new.deferred := new.status = 'pending' and new.available_at > now();
  new.enqueued_by := coalesce(new.enqueued_by, 'sql:' || session_user);
  if new.status = 'running' then
    -- Born running: enqueued at revision 0, claimed at revision 1.
    new.revision := 1;
    new.claim_revision := 1;
    new.lease := mdm.draw_lease();
    new.claimed_at := coalesce(new.claimed_at, now());
    new.claimed_by := coalesce(new.claimed_by, 'sql:' || session_user);
    new.runs := greatest(new.runs, 1);
  elsif new.status <> 'pending' then
    new.completed_at := coalesce(new.completed_at, now());
    if new.status <> 'done' then
      new.dead_at := new.completed_at;
    end if;
  end if;
  return new;
end $$;
create trigger aa_job_hand_made_insert before insert on mdm.aa_job
  for each row when (new.revision = 0) execute function mdm.complete_hand_made_insert();

-- AFTER, so that `on conflict do nothing` journals nothing.
create function mdm.journal_hand_made_insert() returns trigger language plpgsql as $$
begin
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id)
  values (new.id, new.tenant_id, 'job_enqueued', 0, new.job_kind, 'sql:' || session_user);
  if new.status = 'running' then
    insert into mdm.aa_claim (instance_id, claimed_at, lease, job_ids) values (null, new.claimed_at, new.lease, array[new.id]);
  end if;
  return null;
end $$;
create trigger aa_job_hand_made_birth after insert on mdm.aa_job
  for each row when (new.revision = 0 or new.status = 'running') execute function mdm.journal_hand_made_insert();

-- AFTER, mending by an UPDATE of its own: a BEFORE trigger locks the row for every update (56 bytes of WAL), even when its WHEN is false.
-- The action written is that of the move which the change equals, so that every row has a meaning for subscribers.
create function mdm.complete_hand_made_move() returns trigger language plpgsql as $$
declare
  drawn bigint := case when new.status = 'running' then mdm.draw_lease() end;
  ended boolean := new.status in ('done', 'dlq', 'failed');
  dead boolean := new.status in ('dlq', 'failed');
begin
  update mdm.aa_job set
    revision = old.revision + 1,
    lease = drawn,
    claim_revision = case when new.status = 'running' then old.revision + 1 else claim_revision end,
    claimed_at = case when new.status = 'running' then coalesce(claimed_at, now()) when new.status = 'pending' then null else claimed_at end,
    claimed_by = case when new.status = 'running' then coalesce(claimed_by, 'sql:' || session_user) when new.status = 'pending' then null else claimed_by end,
    heartbeat_at = null,
    runs = runs + case when new.status = 'running' then 1 else 0 end,
    deferred = new.status = 'pending' and new.available_at > now(),
    completed_at = case when ended then coalesce(completed_at, now()) end,
    dead_at = case when dead then coalesce(completed_at, now()) end,
    stop_requested_at = case when new.status = 'failed' then coalesce(stop_requested_at, now()) when new.status = 'pending' then null else stop_requested_at end,
    stop_cause = case when new.status = 'failed' then coalesce(stop_cause, 'stopped') when new.status = 'pending' then null else stop_cause end,
    stop_requested_by = case when new.status = 'failed' then coalesce(stop_requested_by, 'sql:' || session_user) when new.status = 'pending' then null else stop_requested_by end,
    stop_reason = case when new.status = 'pending' then null else stop_reason end
  where id = new.id;
  if new.status = 'running' then
    -- No instance stands behind a claim made by hand: only the time limit of its kind ends it.
    insert into mdm.aa_claim (instance_id, claimed_at, lease, job_ids) values (null, coalesce(new.claimed_at, now()), drawn, array[new.id]);
  else
    insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, claim_revision, run_ms, attempt, worker, job_kind, actor_principal_id, payload)
    values (
      new.id, new.tenant_id,
      (case new.status
         when 'done' then 'job_done'
         when 'dlq' then 'job_dlq'
         when 'failed' then case when new.stop_cause = 'cancelled' then 'job_cancel' else 'job_stop' end
         else case when old.status = 'running' then 'job_recovered' else 'job_replay' end
       end)::mdm.audit_action,
      old.revision + 1,
      case when old.status = 'running' and old.claim_revision <> old.revision then old.claim_revision end,
      case when old.status = 'running' then least(date_part('epoch', now() - old.claimed_at) * 1000, 2147483647)::int end,
      case when old.status = 'running' then old.runs end,
      case when old.status = 'running' then (select w.id from mdm.aa_worker w where w.name = old.claimed_by) end,
      new.job_kind, 'sql:' || session_user,
      jsonb_strip_nulls(jsonb_build_object(
        'from', old.status,
        'last_error', case when new.status <> 'done' then new.last_error end,
        'available_at', case when new.status = 'pending' then new.available_at end)));
  end if;
  return null;
end $$;
create trigger aa_job_hand_made_move after update on mdm.aa_job
  for each row when (new.revision = old.revision and new.status is distinct from old.status) execute function mdm.complete_hand_made_move();
