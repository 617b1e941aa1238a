import { candidatesUnderCaps, pickedUnderCaps, type CappedParams } from './claim-capped-parts.ts'
import { claimStatement } from './claim-statement.ts'
import { moveCapped, type ClaimParams } from './claim-parts.ts'

/** The fair claim under caps; in the transaction that holds the lock of `try_caps_lock`. */
export const claimCapped = claimStatement<[...ClaimParams, ...CappedParams]>(
  'claim_capped',
  `-- pending -> running for jobs that stand under a cap, as many as it has room for, fairly between tenants; lives on aa_job_by_kind and aa_claim
with recursive ${candidatesUnderCaps},
${pickedUnderCaps('(c.rn - 1) / c.weight, c.arm, c.tenant_id, c.rn')},
${moveCapped}`,
)
