import { tenantPredicate, type Caller } from '../jobs/permissions.ts'
import { pairKey } from '../jobs/pair-key.ts'
import { countJobsInHand, type JobsInHand } from '../sql/count-jobs-in-hand.ts'
import { countRateLimitHits, type RateLimitHits } from '../sql/count-rate-limit-hits.ts'
import type { EntityAttributeRow, EntityRow, EntityTypeRow } from '../sql/entity-type-row.ts'
import type { DocumentRow } from '../sql/document-row.ts'
import type { JobRow } from '../sql/job-row.ts'
import { readApiKeyNames } from '../sql/read-api-key-names.ts'
import { readEntities } from '../sql/read-entities.ts'
import { readEntityAttributes } from '../sql/read-entity-attributes.ts'
import { readEntityTypes } from '../sql/read-entity-types.ts'
import { readDocumentContents } from '../sql/read-document-contents.ts'
import { readDocumentReadings, type DocumentReading } from '../sql/read-document-readings.ts'
import { readDocuments } from '../sql/read-documents.ts'
import { readEventPayloads } from '../sql/read-event-payloads.ts'
import { readInstances, type InstanceRow } from '../sql/read-instances.ts'
import { readJobs } from '../sql/read-jobs.ts'
import { readLastFailures, type LastFailure } from '../sql/read-last-failures.ts'
import { readKinds, type RegisteredKind } from '../sql/read-kinds.ts'
import { readTenants, type TenantRow } from '../sql/read-tenants.ts'
import { readTermsOfDocuments, type TermOfDocument } from '../sql/read-terms-of-documents.ts'
import { readWorkers, type WorkerRow } from '../sql/read-workers.ts'
import { readWorkersByName } from '../sql/read-workers-by-name.ts'
import { readWaiting, type WaitingRow } from '../sql/read-waiting.ts'
import { readWebhookEndpoints } from '../sql/read-webhook-endpoints.ts'
import type { Queryable } from '../sql/statement.ts'
import type { WebhookEndpointRow } from '../sql/webhook-endpoint-row.ts'
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
  /** By the uuid of the key. */
  readonly apiKeyNames: BatchLoader<{ readonly id: string; readonly name: string }>
  /** By uuid. */
  readonly webhookEndpoints: BatchLoader<WebhookEndpointRow>
  /** By the event's place in the outbox. */
  readonly eventPayloads: BatchLoader<{ readonly eventPk: string; readonly text: string }>
  /** By uuid; read anew, since mutations change them. */
  readonly entityTypes: BatchLoader<EntityTypeRow>
  /** By the type's uuid; a type without attributes is not found. */
  readonly entityAttributes: BatchLoader<{
    readonly typeId: string
    readonly attributes: readonly EntityAttributeRow[]
  }>
  /** By uuid; read anew, since mutations change them. */
  readonly entities: BatchLoader<EntityRow>
  /** By uuid; read anew, like jobs. */
  readonly documents: BatchLoader<DocumentRow>
  /** What the last reading of a document brought, by the document's uuid. */
  readonly documentReadings: BatchLoader<DocumentReading>
  readonly documentContents: BatchLoader<{ readonly documentId: string; readonly content: string }>
  readonly documentTerms: BatchLoader<{ readonly documentId: string; readonly terms: readonly TermOfDocument[] }>
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
      keyOf: ({ kind, tenantId }) => pairKey(kind, tenantId),
      remember: true,
    }),
    apiKeyNames: createBatchLoader({
      read: (ids) => readApiKeyNames(db, ids, tenantIds),
      keyOf: ({ id }) => id,
      remember: true,
    }),
    webhookEndpoints: createBatchLoader({
      read: (ids) => readWebhookEndpoints(db, ids, tenantIds),
      keyOf: ({ id }) => id,
      remember: false,
    }),
    eventPayloads: createBatchLoader({
      read: (eventPks) => readEventPayloads(db, eventPks, tenantIds),
      keyOf: ({ eventPk }) => eventPk,
      remember: false,
    }),
    entityTypes: createBatchLoader({
      read: (ids) => readEntityTypes(db, ids, tenantIds),
      keyOf: ({ id }) => id,
      remember: false,
    }),
    entityAttributes: createBatchLoader({
      read: async (typeIds) => {
        const rows = await readEntityAttributes(db, typeIds, null, tenantIds)
        return [...Map.groupBy(rows, ({ typeId }) => typeId)].map(([typeId, attributes]) => ({ typeId, attributes }))
      },
      keyOf: ({ typeId }) => typeId,
      remember: false,
    }),
    entities: createBatchLoader({
      read: (ids) => readEntities(db, ids, tenantIds),
      keyOf: ({ id }) => id,
      remember: false,
    }),
    documents: createBatchLoader({
      read: (ids) => readDocuments(db, ids, tenantIds),
      keyOf: ({ id }) => id,
      remember: false,
    }),
    documentReadings: createBatchLoader({
      read: (ids) => readDocumentReadings(db, ids, tenantIds),
      keyOf: ({ documentId }) => documentId,
      remember: false,
    }),
    documentContents: createBatchLoader({
      read: (ids) => readDocumentContents(db, ids, tenantIds),
      keyOf: ({ documentId }) => documentId,
      remember: false,
    }),
    documentTerms: createBatchLoader({
      read: async (ids) => {
        const terms = Map.groupBy(await readTermsOfDocuments(db, ids, tenantIds), ({ documentId }) => documentId)
        return [...terms].map(([documentId, own]) => ({ documentId, terms: own }))
      },
      keyOf: ({ documentId }) => documentId,
      remember: false,
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
