/** A delivery as it is read. */
export interface WebhookDeliveryRow {
  readonly id: string
  readonly endpointId: string
  /** Its place in the outbox, as text. */
  readonly eventPk: string
  readonly eventId: string
  readonly eventType: string
  readonly status: 'pending' | 'delivered' | 'dead' | 'held' | 'cancelled'
  readonly attempts: number
  readonly lastStatus: number | null
  readonly lastError: string | null
  readonly deliveredAt: Date | null
  readonly jobId: string | null
}

/** The select list that makes a WebhookDeliveryRow of the alias `d`. */
export const webhookDeliveryRowColumns = `d.id, d.subscription_id as "endpointId", d.event_pk::text as "eventPk", d.event_id as "eventId", d.event_type as "eventType",
       d.status, d.attempts, d.last_status as "lastStatus", d.last_error as "lastError", d.delivered_at as "deliveredAt", d.job_id as "jobId"`
