import { statement } from './statement.ts'

export type EmailStatus =
  | 'sending'
  | 'sent'
  | 'suppressed'
  | 'rejected'
  | 'failed'
  | 'unknown'
  | 'delivered'
  | 'bounced'
  | 'complained'

interface BegunEmail {
  /** `sending`, or what became of it in an earlier run. */
  readonly status: EmailStatus
  /** This run's number: what an older run still wants to write is dropped. */
  readonly attempts: number
  /** How often the message was handed over without an answer that is known. */
  readonly unanswered: number
  readonly providerMessageId: string | null
  /** Why the address gets no email; null: it does. */
  readonly suppressed: string | null
}

type Params = [
  jobId: string,
  tenantId: string,
  messageId: string,
  provider: string,
  to: string,
  from: string,
  subject: string,
  template: string | null,
  category: string,
]

export const beginEmail = statement<Params, BegunEmail>(
  'begin_email',
  `-- writes the job's one row of the email log, before the first byte is sent; by the unique index on job_id
with suppression as (
  select s.reason
    from mdm.aa_email_suppression s
   where s.tenant_id in ($2::uuid, (select id from mdm.aa_tenant where tenant_key = 'platform'))
     and s.address = lower($5) and s.category in ('*', $9) and (s.expires_at is null or s.expires_at > now())
   limit 1)
insert into mdm.aa_email_log as l (job_id, tenant_id, status, attempts, message_id, provider, to_address, from_address, subject, template_key, category, first_attempt_at)
values ($1::uuid, $2, 'sending', 1, $3, $4, $5, $6, $7, $8, $9, now())
on conflict (job_id) do update set
       attempts = l.attempts + 1, subject = excluded.subject, from_address = excluded.from_address,
       status = case when l.status in ('sent', 'delivered', 'bounced', 'complained') then l.status else 'sending' end
returning l.status, l.attempts, l.unanswered, l.provider_message_id as "providerMessageId", (select reason from suppression) as suppressed`,
)
