import { candidatesUnderCaps, pickedUnderCaps, type CappedParams } from './claim-capped-parts.ts'
import { claimStatement } from './claim-statement.ts'
import { moveCapped, type ClaimParams } from './claim-parts.ts'

/** The claim under caps of pools with dispatch `priority`; in the transaction that holds the lock of `try_caps_lock`. */
export const claimCappedByPriority = claimStatement<[...ClaimParams, ...CappedParams]>(
  'claim_capped_by_priority',
  `-- pending -> running for jobs that stand under a cap, as many as it has room for, by priority and due time; lives on aa_job_by_kind and aa_claim
with recursive ${candidatesUnderCaps},
${pickedUnderCaps('c.priority, c.available_at, c.id')},
${moveCapped}`,
)
