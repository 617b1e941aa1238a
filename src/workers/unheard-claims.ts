import { readClaim } from '../sql/read-claim.ts'
import type { Queryable } from '../sql/statement.ts'
import { runsOf, type Run } from './run.ts'

/** Claims whose answer was lost on its way: they may have committed, and a living instance would hold their jobs without knowing. */
export interface UnheardClaims {
  /** Waits for the answer of the claim with this lease; if none comes, remembers the lease. */
  hear<Rows>(lease: string, answer: Promise<Rows>): Promise<Rows>
  /** What the claims brought whose answer was lost; costs nothing when there are none. */
  find(): Promise<Run[]>
}

/** Remembers by their leases the claims that have to be looked up. */
export function createUnheardClaims(db: Queryable): UnheardClaims {
  const leases = new Set<string>()

  return {
    async hear(lease, answer) {
      try {
        return await answer
      } catch (error) {
        leases.add(lease)
        throw error
      }
    },
    async find() {
      const found: Run[] = []
      for (const lease of leases) {
        found.push(...runsOf(await readClaim(db, lease), lease))
        leases.delete(lease)
      }
      return found
    },
  }
}
