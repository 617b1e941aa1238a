import type { EmailStatus } from './begin-email.ts'

/** A line of the email log as it is read. */
export interface EmailLogRow {
  readonly id: string
  readonly jobId: string
  readonly tenantId: string
  readonly recipient: string
  readonly template: string | null
  readonly provider: string
  readonly providerMessageId: string | null
  readonly status: EmailStatus
  readonly error: string | null
  readonly createdAt: Date
}

/** The select list that makes an EmailLogRow of the alias `l`. */
export const emailLogRowColumns = `l.id, l.job_id as "jobId", l.tenant_id as "tenantId", l.to_address as recipient, l.template_key as template, l.provider,
       l.provider_message_id as "providerMessageId", l.status, l.last_error as error, l.created_at as "createdAt"`
