import { claimedEventOf, jobEventsOf, type JobEvent } from '../jobs/job-event.ts'
import type { Look } from './journal-tail.ts'

export interface FoundEvent {
  /** The journal row that it came with; null: a claim found on the job while it runs. */
  readonly rowId: number | null
  readonly event: JobEvent
}

/**
 * The events of one look, each job's in order of revision. `running` holds the claims that were told, and is kept current: a claim that was
 * found while the job ran is not told again with the row that ends it.
 */
export function eventsOfLook({ rows, claims }: Look, running: Map<string, JobEvent>): FoundEvent[] {
  const found: FoundEvent[] = []
  const untold = new Map(claims.map((claim) => [claim.jobId, claimedEventOf(claim)]))

  const tellClaim = (rowId: number | null, claimed: JobEvent): void => {
    if (running.get(claimed.jobId)?.revision === claimed.revision) return
    running.set(claimed.jobId, claimed)
    found.push({ rowId, event: claimed })
  }

  for (const row of rows) {
    for (const event of jobEventsOf(row)) {
      if (event.type === 'CLAIMED') {
        tellClaim(row.id, event)
        continue
      }
      const claimed = untold.get(event.jobId)
      if (claimed !== undefined && claimed.revision < event.revision) tellClaim(null, claimed)
      if (event.toStatus !== 'running') running.delete(event.jobId)
      found.push({ rowId: row.id, event })
    }
  }
  for (const claimed of untold.values()) tellClaim(null, claimed)
  return found
}
