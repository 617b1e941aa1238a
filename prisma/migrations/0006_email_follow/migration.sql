-- The email log follows its job; handovers without a known answer are counted; the first templates.

alter table mdm.aa_email_log add column unanswered int not null default 0 check (unanswered >= 0);
comment on column mdm.aa_email_log.unanswered is 'How often the provider asked for the message and nobody knows its answer. Above 0 the recipient may have the mail already.';

-- The log says of a mail what is true of it when its job dies, is stopped, replayed or discarded. What the provider took stays as it is.
create function mdm.follow_email_send(job mdm.aa_job, move text) returns void language plpgsql as $$
begin
  if move = 'replay' then
    -- A person has decided that it is to be sent, also where nobody knows whether it was: once more, with the same Message-ID.
    update mdm.aa_email_log set status = 'failed', unanswered = 0, final_at = null
     where job_id = job.id and status in ('sending', 'failed', 'unknown', 'rejected', 'suppressed');
  else
    update mdm.aa_email_log
       set status = case when status = 'sending' then case when unanswered > 0 then 'unknown' else 'failed' end else status end,
           last_error = case when status = 'sending' then coalesce(job.last_error, job.stop_reason, last_error) else last_error end,
           final_at = coalesce(final_at, now())
     where job_id = job.id and status in ('sending', 'failed', 'unknown', 'rejected');
  end if;
end $$;

insert into mdm.aa_email_template (tenant_id, template_key, locale, version, subject, text_body, html_body, required_vars) values
(null, 'welcome', 'en', 1, 'Welcome, {{ name }}',
 E'Hello {{ name }},\n\nwelcome. Your account is ready.\n',
 E'<p>Hello {{ name }},</p>\n<p>welcome. Your account is ready.</p>\n', '{name}'),
(null, 'welcome', 'de', 1, 'Willkommen, {{ name }}',
 E'Hallo {{ name }},\n\nwillkommen. Ihr Zugang ist eingerichtet.\n',
 E'<p>Hallo {{ name }},</p>\n<p>willkommen. Ihr Zugang ist eingerichtet.</p>\n', '{name}');
