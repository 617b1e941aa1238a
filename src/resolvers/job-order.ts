import { listAllDeadJobsEarliest } from '../sql/list-all-dead-jobs-earliest.ts'
import { listAllDeadJobsLatest } from '../sql/list-all-dead-jobs-latest.ts'
import { listAllJobsNewest } from '../sql/list-all-jobs-newest.ts'
import { listAllJobsOldest } from '../sql/list-all-jobs-oldest.ts'
import { listDeadJobsEarliest } from '../sql/list-dead-jobs-earliest.ts'
import { listDeadJobsLatest } from '../sql/list-dead-jobs-latest.ts'
import { listJobsNewest } from '../sql/list-jobs-newest.ts'
import { listJobsOldest } from '../sql/list-jobs-oldest.ts'
import { listQueuedJobsFirst } from '../sql/list-queued-jobs-first.ts'
import { listQueuedJobsLast } from '../sql/list-queued-jobs-last.ts'
import { listQueuedJobsLatest } from '../sql/list-queued-jobs-latest.ts'
import { listQueuedJobsSoonest } from '../sql/list-queued-jobs-soonest.ts'
import type { PlacedJob } from '../sql/list-jobs-parts.ts'
import type { JobMatchParams } from '../sql/job-matches.ts'
import type { Queryable } from '../sql/statement.ts'
import { decodeCursor, encodeCursor } from './page.ts'

export type JobOrderField = 'CREATED_AT' | 'AVAILABLE_AT' | 'COMPLETED_AT' | 'PRIORITY'

/** One way through the jobs: how it is read from a cursor on, and the cursor of a job on it. */
interface JobOrder {
  read(
    db: Queryable,
    match: JobMatchParams,
    cursor: string | null,
    descending: boolean,
    limit: number,
  ): Promise<PlacedJob[]>
  cursorOf(job: PlacedJob): string
}

/** Above so many tenants, the way through all jobs is shorter than the ways through each tenant's. */
export const mostTenantWays = 50
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const firstId = '00000000-0000-0000-0000-000000000000'
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const instant = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?\+00`

export const jobOrders: Readonly<Record<JobOrderField, JobOrder>> = {
  CREATED_AT: {
    read(db, match, cursor, descending, limit) {
      const [beyond = descending ? '9223372036854775807' : '-1'] = keyOf('CREATED_AT', cursor, String.raw`\d{1,18}`)
      const statements = byTenant(match) ? [listJobsNewest, listJobsOldest] : [listAllJobsNewest, listAllJobsOldest]
      return statements[descending ? 0 : 1]!(db, ...match, beyond, limit)
    },
    cursorOf: ({ position }) => encodeCursor('CREATED_AT', [position]),
  },
  COMPLETED_AT: {
    read(db, match, cursor, descending, limit) {
      const [at, id] = keyOf('COMPLETED_AT', cursor, `${instant} ${uuid}`)
      const statements = byTenant(match)
        ? [listDeadJobsLatest, listDeadJobsEarliest]
        : [listAllDeadJobsLatest, listAllDeadJobsEarliest]
      return statements[descending ? 0 : 1]!(db, ...match, at ?? end(descending), id ?? lowestId(descending), limit)
    },
    cursorOf: ({ position, id }) => encodeCursor('COMPLETED_AT', [position, id]),
  },
  PRIORITY: {
    read(db, match, cursor, descending, limit) {
      const [priority, at, id] = keyOf('PRIORITY', cursor, String.raw`\d{1,4} ${instant} ${uuid}`)
      const beyond = Number(priority ?? (descending ? 1_001 : -1))
      const list = descending ? listQueuedJobsLast : listQueuedJobsFirst
      return list(db, ...match, beyond, at ?? end(descending), id ?? lowestId(descending), limit)
    },
    cursorOf: ({ priority, position, id }) => encodeCursor('PRIORITY', [priority, position, id]),
  },
  AVAILABLE_AT: {
    read(db, match, cursor, descending, limit) {
      const [at, id] = keyOf('AVAILABLE_AT', cursor, `${instant} ${uuid}`)
      const list = descending ? listQueuedJobsLatest : listQueuedJobsSoonest
      return list(db, ...match, at ?? end(descending), id ?? lowestId(descending), limit)
    },
    cursorOf: ({ position, id }) => encodeCursor('AVAILABLE_AT', [position, id]),
  },
}

/** Whether to go tenant by tenant. Jobs named by id are found by it, whosever they are. */
export function byTenant([tenantIds, , , ids]: JobMatchParams): boolean {
  return tenantIds !== null && tenantIds.length <= mostTenantWays && ids === null
}

function keyOf(order: JobOrderField, cursor: string | null, pattern: string): string[] {
  return cursor === null ? [] : decodeCursor(order, cursor, new RegExp(`^${pattern}$`))
}

function end(descending: boolean): string {
  return descending ? 'infinity' : '-infinity'
}

function lowestId(descending: boolean): string {
  return descending ? lastId : firstId
}
