import { statement } from './statement.ts'

export const recordAcknowledgedEmails = statement<[acksJson: string], { jobId: string }>(
  'record_acknowledged_emails',
  `-- what a process that died had heard from the provider and not yet written; answers the jobs whose log says so now, by the unique index on job_id
with acked as materialized (
  select * from jsonb_to_recordset($1::jsonb) as a("jobId" uuid, "providerMessageId" text, response text, at timestamptz)),
written as (
  update mdm.aa_email_log l
     set status = 'sent', response = a.response, unanswered = 0, last_error = null, sent_at = a.at, final_at = now(),
         provider_message_id = case when a."providerMessageId" is null
                                      or exists (select from mdm.aa_email_log o where o.provider = l.provider and o.provider_message_id = a."providerMessageId" and o.id <> l.id)
                                    then l.message_id else a."providerMessageId" end
    from acked a
   where l.job_id = a."jobId" and l.status in ('sending', 'failed', 'unknown', 'rejected')
  returning l.job_id)
select job_id as "jobId" from written
union
select l.job_id from mdm.aa_email_log l join acked a on l.job_id = a."jobId" where l.status in ('sent', 'delivered', 'bounced', 'complained')`,
)
