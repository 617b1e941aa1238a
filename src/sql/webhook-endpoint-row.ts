/** An endpoint as it is read; never with its secrets. */
export interface WebhookEndpointRow {
  readonly id: string
  readonly tenantId: string
  readonly url: string
  readonly eventTypes: string[]
  readonly ordered: boolean
  readonly status: 'active' | 'paused' | 'disabled'
  readonly disabledReason: string | null
  readonly consecutiveFailures: number
  /** Who gets a mail when the service switches it off; null: nobody. */
  readonly notifyEmail: string | null
}

/** The select list that makes a WebhookEndpointRow of the alias `s`. */
export const webhookEndpointRowColumns = `s.id, s.tenant_id as "tenantId", s.url, s.event_types as "eventTypes", s.ordered, s.status,
       s.disabled_reason as "disabledReason", s.consecutive_failures as "consecutiveFailures", s.notify_email as "notifyEmail"`
