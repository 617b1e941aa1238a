import { statement } from './statement.ts'

/** A delivery with all that its request needs. */
export interface DeliveryToSend {
  readonly id: string
  readonly jobId: string | null
  readonly tenantId: string
  readonly status: 'pending' | 'delivered' | 'dead' | 'held' | 'cancelled'
  readonly eventId: string
  readonly eventType: string
  /** RFC 3339, UTC; null: the event is gone. */
  readonly occurredAt: string | null
  /** JSON as PostgreSQL writes it: numbers keep all their digits. Null: the event is gone, or says more than was asked for. */
  readonly payloadText: string | null
  /** Of the whole payload; null: the event is gone. */
  readonly payloadBytes: number | null
  readonly aggregateType: string | null
  readonly aggregateId: string | null
  readonly endpointId: string
  readonly endpointStatus: 'active' | 'paused' | 'disabled'
  readonly url: string
  readonly ordered: boolean
  readonly failures: number
  /** Milliseconds until the endpoint may be asked again; 0: now. */
  readonly throttledMs: number
  /** Encrypted, newest first; each of them signs. */
  readonly secrets: readonly Buffer[]
}

export const readDeliveries = statement<[ids: readonly string[], mostPayloadBytes: number], DeliveryToSend>(
  'read_deliveries',
  `-- reads deliveries with their events and endpoints, by the primary keys
select d.id, d.job_id as "jobId", d.tenant_id as "tenantId", d.status, d.event_id as "eventId", d.event_type as "eventType",
       to_char(e.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "occurredAt",
       case when octet_length(p.text) <= $2::int then p.text end as "payloadText", octet_length(p.text) as "payloadBytes",
       e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId",
       s.id as "endpointId", s.status as "endpointStatus", s.url, s.ordered, s.consecutive_failures as failures,
       greatest(date_part('epoch', s.throttle_until - clock_timestamp()) * 1000, 0)::float8 as "throttledMs",
       array(select u.secret from unnest(s.secrets_enc, s.secrets_until) with ordinality u(secret, until, nth) where u.until > now() order by u.nth) as secrets
  from mdm.aa_webhook_delivery d
  join mdm.aa_webhook_subscription s on s.id = d.subscription_id
  left join mdm.aa_outbox_event e on e.id = d.event_pk
  left join lateral (select e.payload::text as text offset 0) p on true
 where d.id = any ($1::uuid[])`,
)
