import { statement } from './statement.ts'

export const recordEmailSent = statement<[jobId: string, providerMessageId: string, response: string | null], never>(
  'record_email_sent',
  `-- the provider took it; in the transaction in which the job becomes done. A provider that gives no ids of its own may repeat itself: then ours stands
with sent as (
  update mdm.aa_email_log l
     set status = case when l.status in ('delivered', 'bounced', 'complained') then l.status else 'sent' end,
         provider_message_id = case when exists (select from mdm.aa_email_log o where o.provider = l.provider and o.provider_message_id = $2 and o.id <> l.id)
                                    then l.message_id else $2 end,
         smtp_code = null, enhanced_code = null, response = coalesce($3, l.response), last_error = null, unanswered = 0,
         sent_at = coalesce(l.sent_at, now()), final_at = coalesce(l.final_at, now())
   where l.job_id = $1
  returning l.job_id, l.tenant_id, l.provider, l.provider_message_id, l.message_id)
insert into mdm.aa_audit_log (job_id, tenant_id, action, attempt, worker, job_kind, payload)
select s.job_id, s.tenant_id, 'email_sent', j.runs, (select w.id from mdm.aa_worker w where w.name = j.claimed_by), j.job_kind,
       jsonb_build_object('provider', s.provider, 'provider_message_id', s.provider_message_id, 'message_id', s.message_id)
  from sent s join mdm.aa_job j on j.id = s.job_id`,
)
