import { capsInForce, runningByPair, runningUnderCap } from './cap-parts.ts'
import { statement } from './statement.ts'

/** A cap on jobs running at once, over all instances. */
export interface ConcurrencyLimitRow {
  readonly kind: string | null
  readonly tenantId: string | null
  /** Null: none. */
  readonly max: number | null
  /** Of jobs that are the caller's to see. */
  readonly running: number
}

export const readConcurrencyLimits = statement<[tenantIds: readonly string[] | null], ConcurrencyLimitRow>(
  'read_concurrency_limits',
  `-- reads the caps in force and what runs under them, through aa_claim; $1 = the caller's tenants, null: all
with ${capsInForce},
${runningByPair('exists (select from cap) and ($1::uuid[] is null or j.tenant_id = any ($1))')}
select c.job_kind as kind, c.tenant_id as "tenantId", c.max, ${runningUnderCap} as running
  from cap c
 where $1::uuid[] is null or c.tenant_id is null or c.tenant_id = any ($1)
 order by c.job_kind nulls first, c.tenant_id nulls first`,
)
