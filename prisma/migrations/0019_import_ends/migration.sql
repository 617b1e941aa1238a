-- An import says what is doubtful about its file, and its end may be mailed.

alter table mdm.aa_import_job add column warning text;
comment on column mdm.aa_import_job.warning is 'What somebody should look at although the import went on: an encoding that was guessed, and where the guess began.';

-- Mails the end of an import to whom its option notifyEmail names, in the transaction that ends it, whoever does: its job, the job's death, SQL by hand.
-- A tenant that is closed gets no mail, and nobody has one to send before the first instance has registered the kind: the end never fails because of it.
create function mdm.mail_import_end() returns trigger language plpgsql as $$
declare
  -- By SQL a name may hold anything; a subject may not.
  file text := coalesce(nullif(regexp_replace(left(new.filename, 255), '[[:cntrl:]\u2028\u2029]', ' ', 'g'), ''), 'a file');
begin
  if not exists (select from mdm.aa_tenant t where t.id = new.tenant_id and t.status = 'active')
     or not exists (select from mdm.aa_job_kind k where k.name = 'email_send') then
    return null;
  end if;
  perform mdm.enqueue_batch(array[new.tenant_id], array['email_send'],
    array[jsonb_build_object('to', jsonb_build_object('address', new.options ->> 'notifyEmail'), 'category', 'notification', 'content', jsonb_build_object(
      'subject', format('Import of %s: %s', file, new.status),
      'text', concat_ws(E'\n\n',
        format('The import of %s has ended: %s.', file, new.status),
        left(new.error ->> 'message', 4000),
        concat_ws(E'\n', format('Rows committed: %s', new.committed_rows), format('Bad rows: %s', new.invalid_rows), 'Rows in the file: ' || new.total_rows),
        left(new.warning, 4000),
        format('Its id is import_%s.', new.id))))::text],
    array[null::int], array[null::timestamptz], array[null::int], array[null::text], array[false],
    array[jsonb_build_object('correlation_id', 'import_' || new.id)], 'system:bulk_import', null);
  perform pg_notify('mdm_wakeup', '');
  return null;
end $$;

create trigger aa_import_job_mail after update of status on mdm.aa_import_job
  for each row when (new.status in ('done', 'failed') and old.status is distinct from new.status and new.options ? 'notifyEmail')
  execute function mdm.mail_import_end();
