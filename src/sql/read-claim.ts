import type { ClaimedRow } from './claimed-row.ts'
import { statement } from './statement.ts'

export const readClaim = statement<[lease: string], ClaimedRow>(
  'read_claim',
  `-- reads again what a claim brought whose answer was lost on its way; aa_claim is as short as the list of claims at work
select j.id, j.tenant_id, j.job_kind, j.payload::text, j.attempts, j.max_attempts, j.priority,
       date_part('epoch', j.created_at) * 1000, date_part('epoch', j.available_at) * 1000, date_part('epoch', j.claimed_at) * 1000,
       j.idempotency_key, j.correlation_id, c.id
  from mdm.aa_claim c
 cross join lateral unnest(c.job_ids) u(job_id)
  join mdm.aa_job j on j.id = u.job_id and j.status = 'running' and j.lease = c.lease
 where c.lease = $1::bigint`,
  { rowMode: 'array' },
)
