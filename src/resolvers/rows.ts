// What the use cases answer with, for those who show it.
export type { JobRow } from '../sql/job-row.ts'
export type { InstanceRow } from '../sql/read-instances.ts'
export type { RegisteredKind } from '../sql/read-kinds.ts'
export type { TenantRow } from '../sql/read-tenants.ts'
export type { WorkerRow } from '../sql/read-workers.ts'
export type { JobUpdate, JobUpdateBatch } from '../events/job-update.ts'
