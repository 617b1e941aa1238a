import { statement } from './statement.ts'

type Params = [
  id: string,
  jobId: string,
  status: number | null,
  error: string,
  durationMs: number,
  /** The whole endpoint is left alone for so long; null: it is not. */
  pauseMs: number | null,
]

/** No row: the delivery is another job's by now. */
export const recordDeliveryFailure = statement<Params, { failures: number; failingForMs: number }>(
  'record_delivery_failure',
  `-- an attempt that the receiver did not take, on the delivery and on its endpoint; by the primary keys
with failed as (
  update mdm.aa_webhook_delivery d
     set attempts = d.attempts + 1, last_status = $3, last_error = $4, duration_ms = $5
   where d.id = $1 and d.job_id = $2 and d.status = 'pending'
  returning d.subscription_id)
update mdm.aa_webhook_subscription s
   set consecutive_failures = s.consecutive_failures + 1, first_failure_at = coalesce(s.first_failure_at, now()),
       throttle_until = case when $6::float8 is null then s.throttle_until else greatest(s.throttle_until, now() + $6 * interval '1 millisecond') end
  from failed f
 where s.id = f.subscription_id
returning s.consecutive_failures as failures, (date_part('epoch', now() - s.first_failure_at) * 1000)::float8 as "failingForMs"`,
)
