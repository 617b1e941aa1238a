import type { PoolClient } from 'pg'
import type { JobRow } from '../sql/job-row.ts'

/** What a person made of a job: what a kind's own rows have to follow. */
export interface FollowedMove {
  readonly move: 'stop' | 'cancel' | 'discard' | 'replay'
  /** Why it is not tried again, or the failure that it is brought back from. */
  readonly error: string | null
}

/** Lets the own rows of a kind follow its job, in the transaction of the move. Throws: the move does not happen. */
export type FollowUp = (tx: PoolClient, job: JobRow, move: FollowedMove) => Promise<void>
