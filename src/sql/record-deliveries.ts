import { statement } from './statement.ts'

type Params = [
  ids: readonly string[],
  jobIds: readonly string[],
  endpointIds: readonly string[],
  statuses: readonly number[],
  durationsMs: readonly number[],
]

/** Answers whether ordered endpoints among them go on with their next delivery. */
export const recordDeliveries = statement<Params, { started: boolean }>(
  'record_deliveries',
  `-- pending -> delivered, by the primary key; receivers that were failing count as well again, ordered ones get their next delivery. Rows of endpoints
-- are locked in one order, and only where something of theirs changes: else all deliveries of an endpoint would wait for one another
with given as materialized (
  select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::int[]) g(id, job_id, endpoint_id, http_status, ms)),
endpoints as materialized (
  select s.id, s.ordered from mdm.aa_webhook_subscription s
   where s.id in (select endpoint_id from given)
     and (s.ordered or s.consecutive_failures > 0 or coalesce(s.last_success_at, '-infinity') < now() - interval '10 seconds')
   order by s.id
     for no key update),
recorded as (
  update mdm.aa_webhook_delivery d
     set status = 'delivered', attempts = d.attempts + 1, last_status = g.http_status, last_error = null, duration_ms = g.ms, delivered_at = now()
    from given g
   where d.id = g.id and d.job_id = g.job_id and d.status in ('pending', 'held')
  returning 1),
well as (
  update mdm.aa_webhook_subscription s set consecutive_failures = 0, first_failure_at = null, last_success_at = now()
   where s.id in (select id from endpoints)
  returning 1)
-- The counts come first: the chain sees what was recorded, and is the last to touch an endpoint's row.
select coalesce(bool_or(mdm.chain_webhook(e.id)), false) as started
  from (select (select count(*) from recorded) + (select count(*) from well) as done) r
  join (select id from endpoints where ordered order by id) e on r.done >= 0`,
)
