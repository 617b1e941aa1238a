import { statement } from './statement.ts'

type Params = [eventPks: readonly string[], tenantIds: readonly string[] | null]

export const readEventPayloads = statement<Params, { eventPk: string; text: string }>(
  'read_event_payloads',
  `-- reads what events say, by the primary key; $2 = the caller's tenants, null: all
select e.id::text as "eventPk", e.payload::text as text
  from mdm.aa_outbox_event e
 where e.id = any ($1::bigint[]) and ($2::uuid[] is null or e.tenant_id = any ($2))`,
)
