-- Whoever changes a pause, a limit or a tenant, by whatever way: the instances hear of it at the commit.
create function mdm.signal_control() returns trigger language plpgsql as $$
begin
  perform pg_notify('mdm_wakeup', 'sql control');
  return null;
end $$;
create trigger aa_tenant_control after insert or update or delete on mdm.aa_tenant for each statement execute function mdm.signal_control();
create trigger aa_queue_pause_control after insert or update or delete on mdm.aa_queue_pause for each statement execute function mdm.signal_control();
create trigger aa_concurrency_limit_control after insert or update or delete on mdm.aa_concurrency_limit for each statement execute function mdm.signal_control();
