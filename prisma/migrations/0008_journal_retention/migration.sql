-- Drops the journal's months that are older than what is kept. A month stays as long as a job lives that was enqueued in it: lists of jobs
-- walk its births. Waits two seconds for the lock at most, then leaves it to the next time.
create function mdm.drop_journal_partitions(keep_months int) returns setof text language plpgsql set lock_timeout = '2s' as $$
declare
  partition text;
  month date;
begin
  for partition in
    select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'mdm_journal' and c.relkind = 'r' and c.relname ~ '^aa_audit_log_\d{4}_\d{2}$' order by 1
  loop
    month := to_date(right(partition, 7), 'YYYY_MM');
    if (month + interval '1 month') at time zone 'UTC' <= date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' - make_interval(months => keep_months)
       and not exists (select from mdm.aa_job where created_at < (month + interval '1 month') at time zone 'UTC') then
      execute format('drop table mdm_journal.%I', partition);
      return next partition;
    end if;
  end loop;
end $$;
