import { emailLogRowColumns, type EmailLogRow } from './email-log-row.ts'
import { statement } from './statement.ts'

type Params = [
  tenantIds: readonly string[] | null,
  jobId: string | null,
  statuses: readonly string[] | null,
  recipient: string | null,
  providerMessageId: string | null,
  from: Date | null,
  to: Date | null,
  beforeId: string | null,
  limit: number,
]

export const listEmailLogs = statement<Params, EmailLogRow>(
  'list_email_logs',
  `-- reads the email log, newest first, on its primary key, aa_email_log_newest or the unique index on job_id; null: no restriction
select ${emailLogRowColumns}
  from mdm.aa_email_log l
 where ($1::uuid[] is null or l.tenant_id = any ($1))
   and ($2::uuid is null or l.job_id = $2)
   and ($3::text[] is null or l.status = any ($3))
   and ($4::text is null or lower(l.to_address) = lower($4))
   and ($5::text is null or l.provider_message_id = $5)
   and ($6::timestamptz is null or l.created_at >= $6)
   and ($7::timestamptz is null or l.created_at < $7)
   and ($8::uuid is null or l.id < $8)
 order by l.id desc
 limit $9::int`,
)
