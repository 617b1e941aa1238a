import { statement } from './statement.ts'

type Params = [
  tenantId: string,
  type: string,
  aggregateType: string | null,
  aggregateId: string | null,
  payloadText: string,
]

export const publishEvent = statement<Params, { eventId: string }>(
  'publish_event',
  `-- writes an event into the outbox, whoever wants it; its fan-out job comes by the trigger
insert into mdm.aa_outbox_event (tenant_id, event_type, aggregate_type, aggregate_id, payload)
values ($1, $2, $3, $4, $5::jsonb)
returning event_id as "eventId"`,
)
