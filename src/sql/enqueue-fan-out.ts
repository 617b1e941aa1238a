import { statement } from './statement.ts'

export const enqueueFanOut = statement<[tenantId: string], never>(
  'enqueue_fan_out',
  `-- (nothing) -> pending: a fan-out job of the tenant, for what the one before had no room for
select mdm.enqueue_dispatch(array[mdm.uuid_v7()], array[$1::uuid], array['{"phase": "fanout"}'::jsonb], 1)`,
)
