import { tenantPredicate, type Caller } from '../jobs/permissions.ts'
import { countJobsInHand, type JobsInHand } from '../sql/count-jobs-in-hand.ts'
import { countRateLimitHits, type RateLimitHits } from '../sql/count-rate-limit-hits.ts'
import type { JobRow } from '../sql/job-row.ts'
import { readInstances, type InstanceRow } from '../sql/read-instances.ts'
import { readJobs } from '../sql/read-jobs.ts'
import { readLastFailures, type LastFailure } from '../sql/read-last-failures.ts'
import { readKinds, type RegisteredKind } from '../sql/read-kinds.ts'
import { readTenants, type TenantRow } from '../sql/read-tenants.ts'
import { readWorkers, type WorkerRow } from '../sql/read-workers.ts'
import { readWorkersByName } from '../sql/read-workers-by-name.ts'
import { readWaiting, type WaitingRow } from '../sql/read-waiting.ts'
import type { Queryable } from '../sql/statement.ts'
import { createBatchLoader, type BatchLoader } from './batch-loader.ts'

/** Reads of one operation, gathered per tick. Jobs and tenants of others than the caller's are not found. */
export interface Loaders {
  /** By uuid; always read anew, since an operation may change what it reads. */
  readonly jobs: BatchLoader<JobRow>
  /** By the job's uuid. */
  readonly lastFailures: BatchLoader<LastFailure>
  /** By uuid. */
  readonly tenants: BatchLoader<TenantRow>
  /** By name. */
  readonly kinds: BatchLoader<RegisteredKind>
  /** By the number that the journal names them with. */
  readonly workers: BatchLoader<WorkerRow>
  /** By the name that stands in `claimed_by`. */
  readonly workersByName: BatchLoader<WorkerRow>
  /** By uuid. */
  readonly instances: BatchLoader<InstanceRow>
  /** By the number of the worker. */
  readonly jobsInHand: BatchLoader<JobsInHand>
  /** By `<kind> <tenant uuid>`. */
  readonly rateLimitHits: BatchLoader<RateLimitHits>
  /** What keeps pending jobs waiting, by the job's uuid. */
  readonly waiting: BatchLoader<WaitingRow>
}

export function createLoaders(db: Queryable, caller: Caller | null, deadAfterMs: number): Loaders {
  const tenantIds = caller === null ? [] : tenantPredicate(caller)
  return {
    jobs: createBatchLoader({ read: (ids) => readJobs(db, ids, tenantIds), keyOf: (job) => job.id, remember: false }),
    lastFailures: createBatchLoader({
      read: (ids) => readLastFailures(db, ids, tenantIds),
      keyOf: (failure) => failure.jobId,
      remember: true,
    }),
    tenants: createBatchLoader({
      read: (ids) => readTenants(db, ids, tenantIds),
      keyOf: (tenant) => tenant.id,
      remember: true,
    }),
    kinds: createBatchLoader({ read: (names) => readKinds(db, names), keyOf: (kind) => kind.name, remember: true }),
    workers: createBatchLoader({
      read: (ids) => readWorkers(db, ids),
      keyOf: (worker) => String(worker.id),
      remember: true,
    }),
    workersByName: createBatchLoader({
      read: (names) => readWorkersByName(db, names),
      keyOf: (worker) => worker.name,
      remember: true,
    }),
    instances: createBatchLoader({
      read: (ids) => readInstances(db, ids),
      keyOf: (instance) => instance.id,
      remember: true,
    }),
    jobsInHand: createBatchLoader({
      read: (ids) => countJobsInHand(db, ids),
      keyOf: ({ workerId }) => String(workerId),
      remember: true,
    }),
    rateLimitHits: createBatchLoader({
      read: (pairs) => countRateLimitHits(db, ...columnsOf(pairs)),
      keyOf: ({ kind, tenantId }) => `${kind} ${tenantId}`,
      remember: true,
    }),
    waiting: createBatchLoader({
      read: (ids) => readWaiting(db, ids, tenantIds, deadAfterMs),
      keyOf: ({ jobId }) => jobId,
      remember: false,
    }),
  }
}

function columnsOf(pairs: readonly string[]): [tenantIds: string[], kinds: string[]] {
  const split = pairs.map((pair) => pair.split(' ') as [kind: string, tenantId: string])
  return [split.map(([, tenantId]) => tenantId), split.map(([kind]) => kind)]
}
