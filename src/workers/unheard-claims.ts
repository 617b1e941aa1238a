import { readClaim } from '../sql/read-claim.ts'
import type { Queryable } from '../sql/statement.ts'
import { runsOf, type Run } from './run.ts'

/** Claims whose answer was lost on its way: they may have committed, and a living instance would hold their jobs without knowing. */
export interface UnheardClaims {
  /** Waits for the answer of the claim with this lease; if none comes, remembers the lease. */
  hear<Rows>(lease: string, answer: Promise<Rows>): Promise<Rows>
  /** A statement that was given up may still be at work: its claim is looked for again and again for so many milliseconds. */
  seek(lease: string, forMs: number): void
  /** What the claims brought whose answer was lost; costs nothing when there are none. */
  find(): Promise<Run[]>
}

/** Remembers by their leases the claims that have to be looked up. */
export function createUnheardClaims(db: Queryable): UnheardClaims {
  /** Until when each is looked for, once at least. */
  const leases = new Map<string, number>()

  return {
    async hear(lease, answer) {
      try {
        return await answer
      } catch (error) {
        leases.set(lease, 0)
        throw error
      }
    },
    seek: (lease, forMs) => void leases.set(lease, performance.now() + forMs),
    async find() {
      const found: Run[] = []
      for (const [lease, until] of leases) {
        const isLast = performance.now() >= until
        const runs = runsOf(await readClaim(db, lease), lease)
        found.push(...runs)
        if (isLast || runs.length > 0) leases.delete(lease)
      }
      return found
    },
  }
}
