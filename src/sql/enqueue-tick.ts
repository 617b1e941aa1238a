import { statement } from './statement.ts'

export const enqueueTick = statement<[kind: string, tick: string], { outcome: string }>(
  'enqueue_tick',
  `-- (nothing) -> pending, once per kind and tick over all instances: the tick is the idempotency key
select e.outcome
  from mdm.enqueue_batch(array(select id from mdm.aa_tenant where tenant_key = 'platform'), array[$1], array['{}'], array[null::int], array[null::timestamptz],
         array[null::int], array['tick ' || $2], array[false], array['{}'::jsonb], 'system:schedule', null) e`,
)
