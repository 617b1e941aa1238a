import { candidatesUnderCaps, pickedUnderCaps, type CappedParams } from './claim-capped-parts.ts'
import { moveToRunning, type ClaimedRow, type ClaimParams } from './claim-parts.ts'
import { statement } from './statement.ts'

/** The fair claim under caps; in the transaction that holds the lock of `try_caps_lock`. */
export const claimCapped = statement<[...ClaimParams, ...CappedParams], ClaimedRow>(
  'claim_capped',
  `-- pending -> running for jobs that stand under a cap, as many as it has room for, fairly between tenants; lives on aa_job_by_kind and aa_claim
with recursive ${candidatesUnderCaps},
${pickedUnderCaps('(c.rn - 1) / c.weight, c.arm, c.tenant_id, c.rn')},
${moveToRunning()}`,
  { rowMode: 'array' },
)
