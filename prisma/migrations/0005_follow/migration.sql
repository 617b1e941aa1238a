-- A built-in kind's own rows follow its job on every way out, whoever makes the move: the service, another instance, plain SQL.
-- A kind that needs it has a function mdm.follow_<kind>(job mdm.aa_job, move text); move is dlq, stop, cancel, replay or discard.

create function mdm.follow_job() returns trigger language plpgsql as $$
declare
  job mdm.aa_job := case when tg_op = 'DELETE' then old else new end;
  follower text := 'follow_' || job.job_kind;
begin
  if tg_op = 'UPDATE' and new.status = old.status then
    return null;
  end if;
  if to_regprocedure(format('mdm.%I(mdm.aa_job, text)', follower)) is not null then
    execute format('select mdm.%I($1, $2)', follower) using job,
      case when tg_op = 'DELETE' then 'discard' when new.status = 'dlq' then 'dlq'
           when new.status = 'failed' then case when new.stop_cause = 'cancelled' then 'cancel' else 'stop' end else 'replay' end;
  end if;
  return null;
end $$;
-- One WHEN cannot serve both; retention of done rows fires none.
create trigger aa_job_follow_death after update on mdm.aa_job
  for each row when (new.status in ('dlq', 'failed') or old.status in ('dlq', 'failed')) execute function mdm.follow_job();
create trigger aa_job_follow_discard after delete on mdm.aa_job
  for each row when (old.status in ('pending', 'dlq', 'failed')) execute function mdm.follow_job();
