/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** How an attempt ended. */
export type AttemptOutcome =
  /** Failed for the last time. */
  | 'DEAD_LETTERED'
  /** Failed; another attempt follows. */
  | 'FAILED'
  /** The worker vanished. */
  | 'LOST'
  /** Given back unharmed, e.g. on shutdown. */
  | 'RELEASED'
  /** Still going. */
  | 'RUNNING'
  /** Ended by cancel or stop. */
  | 'STOPPED'
  /** Success. */
  | 'SUCCEEDED';

/** What was done. */
export type AuditAction =
  /** Key for a service made or revoked. */
  | 'API_KEY_CHANGE'
  /** Attachment scanned. */
  | 'ATTACHMENT_SCANNED'
  /** Bulk operation ended. */
  | 'BULK_END'
  /** Bulk operation started. */
  | 'BULK_START'
  /** Concurrency limit changed. */
  | 'CONCURRENCY_LIMIT_SET'
  /** Document read. */
  | 'DOCUMENT_PROCESSED'
  /** Email handed to the provider. */
  | 'EMAIL_SENT'
  /** Import ended. */
  | 'IMPORT_DONE'
  /** Index built, dropped or failed. */
  | 'INDEX_CHANGE'
  /** Job cancelled. */
  | 'JOB_CANCEL'
  /** Job deleted by a person; `snapshot` holds its payload. */
  | 'JOB_DISCARD'
  /** Job went to the DLQ. */
  | 'JOB_DLQ'
  /** Job finished. */
  | 'JOB_DONE'
  /** Job created. */
  | 'JOB_ENQUEUED'
  /** Job put back by a person. */
  | 'JOB_REPLAY'
  /** Job stopped. */
  | 'JOB_STOP'
  /** Job's time or priority changed. */
  | 'JOB_UPDATE'
  /** Type, term, workflow or template changed. */
  | 'METADATA_CHANGE'
  /** Claiming paused. */
  | 'QUEUE_PAUSE'
  /** Claiming resumed. */
  | 'QUEUE_RESUME'
  /** Rate limit changed. */
  | 'RATE_LIMIT_SET'
  /** Search vectors rebuilt. */
  | 'REINDEX_DONE'
  /** Address suppressed. */
  | 'SUPPRESSION_ADD'
  /** Suppression lifted. */
  | 'SUPPRESSION_REMOVE'
  /** Tenant created, changed or closed. */
  | 'TENANT_CHANGE'
  /** Endpoint made, changed or switched off. */
  | 'WEBHOOK_CHANGE';

/** What a bulk operation does to each job. */
export type BulkAction =
  /** Cancel. */
  | 'CANCEL'
  /** Discard. */
  | 'DISCARD'
  /** Replay. */
  | 'REPLAY'
  /** Stop. */
  | 'STOP';

/** An uploaded import to go on with. */
export type BulkImportInput = {
  /** Rows in one transaction. */
  batchSize?: number | null | undefined;
  /** The import to commit. */
  importId: string | number;
};

/** An action on many jobs. */
export type BulkJobsInput = {
  /** True: only look. False: do it. There is no default on purpose. */
  dryRun: boolean;
  /** Refuse if a different number matches. Required by `discardJobs` when not a dry run. */
  expectedCount?: number | null | undefined;
  /** Repeating the call with the same key returns the same operation. */
  idempotencyKey?: string | null | undefined;
  /** At most this many, oldest first. */
  limit?: number;
  /** Spread: at most this many per second. */
  ratePerSecond?: number | null | undefined;
  /** Why, for the audit log. */
  reason?: string | null | undefined;
  /** Which. */
  select: JobSelectionInput;
};

/** State of a bulk operation. */
export type BulkOperationStatus =
  /** Ended early on request. */
  | 'CANCELLED'
  /** All done. */
  | 'COMPLETED'
  /** Ended early by a fault; can be started again with the same idempotency key. */
  | 'FAULTED'
  /** Waiting to start. */
  | 'QUEUED'
  /** Working. */
  | 'RUNNING';

/** What carries events between instances. */
export type BusDriver =
  /** PostgreSQL LISTEN/NOTIFY. */
  | 'POSTGRES'
  /** Redis. */
  | 'REDIS';

/** How exact a count is. */
export type CountPrecision =
  /** Counting stopped at the asked limit: there are at least this many. */
  | 'AT_LEAST'
  /** The exact number. */
  | 'EXACT';

/** A job of any kind. The payload is checked against the kind's JSON Schema on the server. */
export type CustomJobInput = {
  /** Name of the kind. */
  kind: string;
  /** Its payload. */
  payload: unknown;
};

/** A half-open span of time: `from` ≤ t < `to`. */
export type DateTimeRangeInput = {
  /** Earliest instant, inclusive. */
  from?: string | null | undefined;
  /** Latest instant, exclusive. */
  to?: string | null | undefined;
};

/** A document to read. */
export type DocumentProcessInput = {
  /** Whether to derive a title. */
  deriveTitle?: boolean;
  /** The document. */
  documentId: string | number;
};

/** An email address with an optional name. */
export type EmailAddressInput = {
  /** The address alone. Checked on the server. */
  address: string;
  /** Display name. */
  name?: string | null | undefined;
};

/** What sort of email it is: suppressions can be limited to one, and the rule for an unknown outcome follows it. */
export type EmailCategory =
  /** To many. */
  | 'BULK'
  /** Tells the recipient of something. */
  | 'NOTIFICATION'
  /** Asked for by the recipient's own action. */
  | 'TRANSACTIONAL';

/** A ready text. */
export type EmailContentInput = {
  /** HTML, in addition. */
  html?: string | null | undefined;
  /** Subject. */
  subject: string;
  /** Plain text. */
  text: string;
};

/** An email to one recipient. Exactly one of `template` and `content`. */
export type EmailSendInput = {
  /** Attachments that were scanned clean. */
  attachmentIds?: Array<string | number> | null | undefined;
  /** What sort it is. */
  category?: EmailCategory;
  /** A ready text. */
  content?: EmailContentInput | null | undefined;
  /** Configured sender's key, if not the tenant's default. */
  from?: string | null | undefined;
  /** Additional headers; names begin with `X-`. */
  headers?: unknown;
  /** Default: RESEND for TRANSACTIONAL, else HOLD. */
  onUnknown?: UnknownDelivery | null | undefined;
  /** Where answers go. */
  replyTo?: EmailAddressInput | null | undefined;
  /** A stored template. */
  template?: EmailTemplateInput | null | undefined;
  /** Recipient. */
  to: EmailAddressInput;
};

/** What became of an email. */
export type EmailStatus =
  /** Provider reports a bounce. */
  | 'BOUNCED'
  /** The recipient complained. */
  | 'COMPLAINED'
  /** Provider reports delivery. */
  | 'DELIVERED'
  /** Not handed over; the job will try again or is dead. */
  | 'FAILED'
  /** The provider refused it. */
  | 'REJECTED'
  /** Being handed over, or was when its worker vanished. */
  | 'SENDING'
  /** Handed to the provider. */
  | 'SENT'
  /** Not sent: the address is suppressed. */
  | 'SUPPRESSED'
  /** Nobody knows whether the provider took it. */
  | 'UNKNOWN';

/** A stored template and its values. */
export type EmailTemplateInput = {
  /** Template key. */
  key: string;
  /** Locale. Default: the tenant's. */
  locale?: string | null | undefined;
  /** Values for the template. */
  variables?: unknown;
};

/** A job to enqueue. */
export type EnqueueJobInput = {
  /** Ties the job to the causing request. */
  correlationId?: string | null | undefined;
  /** Same key, tenant and kind: one job. */
  idempotencyKey?: string | null | undefined;
  /** Kind and payload. */
  job: JobInput;
  /** Default: the kind's. */
  maxAttempts?: number | null | undefined;
  /** What to do if the key exists. */
  onConflict?: IdempotencyConflict;
  /** Lower runs first. Default: the kind's. */
  priority?: number | null | undefined;
  /** When. Default: now. */
  schedule?: ScheduleInput | null | undefined;
  /** Free labels. */
  tags?: Array<string> | null | undefined;
  /** For whom. May be left out by callers with exactly one tenant. */
  tenantId?: string | number | null | undefined;
};

/** What enqueueing did. */
export type EnqueueOutcome =
  /** A new job. */
  | 'CREATED'
  /** The key existed: the old job, unchanged. */
  | 'DUPLICATE'
  /** The key existed: the old job, changed. */
  | 'UPDATED';

/** Why a mutation did not do what was asked. Authentication, permission, limits and faults are top-level errors instead. */
export type ErrorCode =
  /** The object is not in a state that allows this. */
  | 'CONFLICT'
  /** The number of jobs differs from `expectedCount`. */
  | 'COUNT_MISMATCH'
  /** The key was used before with other input. */
  | 'IDEMPOTENCY_MISMATCH'
  /** Input breaks a rule. */
  | 'INVALID'
  /** More than allowed. */
  | 'LIMIT_EXCEEDED'
  /** No such object among the caller's tenants. */
  | 'NOT_FOUND';

/** A GIN index to build. */
export type GinBackfillInput = {
  /** Entity type key. */
  typeKey: string;
};

/** What to do if the idempotency key exists. */
export type IdempotencyConflict =
  /** Leave the old job as it is and return it. */
  | 'IGNORE'
  /** If the old job is still PENDING, give it the new payload, time and priority; else return it. */
  | 'UPDATE';

/** An index to bring in line. */
export type IndexSyncInput = {
  /** The attribute. */
  attributeId: string | number;
};

/** A closed span of whole numbers. */
export type IntRangeInput = {
  /** Largest value, inclusive. */
  max?: number | null | undefined;
  /** Smallest value, inclusive. */
  min?: number | null | undefined;
};

/** What the caller may do with a job now, given its status and the caller's scopes. */
export type JobAction =
  /** Withdraw it. */
  | 'CANCEL'
  /** Delete it for good. */
  | 'DISCARD'
  /** Put it back from DLQ or FAILED with attempts at zero. */
  | 'REPLAY'
  /** Change its priority. */
  | 'REPRIORITIZE'
  /** Change when it runs. */
  | 'RESCHEDULE'
  /** Make it available now. */
  | 'RUN_NOW'
  /** Flag it as not to be tried again. */
  | 'STOP';

/** What happened to a job. */
export type JobEventType =
  /** Withdrawn. */
  | 'CANCELLED'
  /** A running attempt was asked to end. */
  | 'CANCEL_REQUESTED'
  /** A worker took it. */
  | 'CLAIMED'
  /** Attempts used up. */
  | 'DEAD_LETTERED'
  /** Deleted. */
  | 'DISCARDED'
  /** Created. */
  | 'ENQUEUED'
  /** Its worker vanished; the claim was taken back. */
  | 'RECOVERED'
  /** Went back to PENDING without counting an attempt, e.g. on shutdown. */
  | 'RELEASED'
  /** Put back by a person. */
  | 'REPLAYED'
  /** Its priority was changed. */
  | 'REPRIORITIZED'
  /** Its time was changed. */
  | 'RESCHEDULED'
  /** Went back to PENDING after a failure. */
  | 'RETRY_SCHEDULED'
  /** Flagged as not to be tried again. */
  | 'STOPPED'
  /** Finished successfully. */
  | 'SUCCEEDED'
  /** An enqueue with the same key replaced its payload, time or priority. */
  | 'UPDATED';

/** Narrow down jobs. Fields combine with AND, values inside a list with OR (tags: all of them). `payload` and `errorText` need `READ_PAYLOADS`. */
export type JobFilter = {
  /** Attempt count range. */
  attemptCount?: IntRangeInput | null | undefined;
  /** Due in this span. */
  availableAt?: DateTimeRangeInput | null | undefined;
  /** Finished in this span. */
  completedAt?: DateTimeRangeInput | null | undefined;
  /** Exactly this correlation id. */
  correlationId?: string | null | undefined;
  /** Enqueued in this span. */
  createdAt?: DateTimeRangeInput | null | undefined;
  /** Failures of this cause. */
  errorFingerprint?: string | null | undefined;
  /** The last error contains this text (case-insensitive). */
  errorText?: string | null | undefined;
  /** Any of these jobs. */
  id?: Array<string | number> | null | undefined;
  /** Exactly this idempotency key. */
  idempotencyKey?: string | null | undefined;
  /** Any of these kinds. */
  kind?: Array<string> | null | undefined;
  /** The payload contains this JSON, e.g. `{"to":{"address":"a@b.c"}}` (jsonb containment). */
  payload?: unknown;
  /** Priority range. */
  priority?: IntRangeInput | null | undefined;
  /** Any of these statuses. */
  status?: Array<JobStatus> | null | undefined;
  /** Carries all of these tags. */
  tag?: Array<string> | null | undefined;
  /** Any of these tenants. Default: all of the caller's. */
  tenantId?: Array<string | number> | null | undefined;
  /** Claimed by this worker. */
  workerId?: string | number | null | undefined;
};

/** What to do: exactly one kind. One field per registered kind, made from its payload schema. */
export type JobInput =
  {   /** Kind `bulk_import`. */
  bulkImport: BulkImportInput; custom?: never; documentProcess?: never; emailSend?: never; ginBackfill?: never; indexSync?: never; reindex?: never; virusScan?: never; }
  |  { bulkImport?: never;   /** Any kind, with a JSON payload. */
  custom: CustomJobInput; documentProcess?: never; emailSend?: never; ginBackfill?: never; indexSync?: never; reindex?: never; virusScan?: never; }
  |  { bulkImport?: never; custom?: never;   /** Kind `document_process`. */
  documentProcess: DocumentProcessInput; emailSend?: never; ginBackfill?: never; indexSync?: never; reindex?: never; virusScan?: never; }
  |  { bulkImport?: never; custom?: never; documentProcess?: never;   /** Kind `email_send`. */
  emailSend: EmailSendInput; ginBackfill?: never; indexSync?: never; reindex?: never; virusScan?: never; }
  |  { bulkImport?: never; custom?: never; documentProcess?: never; emailSend?: never;   /** Kind `gin_backfill`. */
  ginBackfill: GinBackfillInput; indexSync?: never; reindex?: never; virusScan?: never; }
  |  { bulkImport?: never; custom?: never; documentProcess?: never; emailSend?: never; ginBackfill?: never;   /** Kind `index_sync`. */
  indexSync: IndexSyncInput; reindex?: never; virusScan?: never; }
  |  { bulkImport?: never; custom?: never; documentProcess?: never; emailSend?: never; ginBackfill?: never; indexSync?: never;   /** Kind `reindex`. */
  reindex: ReindexInput; virusScan?: never; }
  |  { bulkImport?: never; custom?: never; documentProcess?: never; emailSend?: never; ginBackfill?: never; indexSync?: never; reindex?: never;   /** Kind `virus_scan`. */
  virusScan: VirusScanInput; };

/** A measured quantity. */
export type JobMetric =
  /** Jobs that went to the DLQ. */
  | 'DEAD_LETTERED'
  /** Jobs finished successfully. */
  | 'DONE'
  /** Jobs enqueued. */
  | 'ENQUEUED'
  /** Attempts failed. */
  | 'ERRORS'
  /** Jobs due and waiting. */
  | 'PENDING'
  /** Jobs running. */
  | 'RUNNING'
  /** Run time, 95th percentile, seconds. */
  | 'RUN_P95'
  /** Wait before claim, 95th percentile, seconds. */
  | 'WAIT_P95';

/** How to sort jobs. Ties are broken by id, so paging is stable. */
export type JobOrder = {
  /** Direction. */
  direction: OrderDirection;
  /** Sort key. */
  field: JobOrderField;
};

/** What to sort jobs by. */
export type JobOrderField =
  /** When due: the order of claiming within a priority. With status PENDING only. */
  | 'AVAILABLE_AT'
  /** When finished. With the statuses DLQ and FAILED only. */
  | 'COMPLETED_AT'
  /** When enqueued. */
  | 'CREATED_AT'
  /** Priority, then due time. With status PENDING only. */
  | 'PRIORITY';

/** Which jobs: exactly one of the three. */
export type JobSelectionInput =
  {   /** One group of `deadLetterGroups`. */
  deadLetterGroup: string | number; filter?: never; ids?: never; }
  |  { deadLetterGroup?: never;   /** All that match. */
  filter: JobFilter; ids?: never; }
  |  { deadLetterGroup?: never; filter?: never;   /** These. At most 1000. */
  ids: Array<string | number>; };

/** Where a job is in its life: PENDING → RUNNING → DONE or DLQ. FAILED is only ever set by a person. */
export type JobStatus =
  /** Attempts used up: waits for replay or discard. */
  | 'DLQ'
  /** Finished successfully. */
  | 'DONE'
  /** Stopped or cancelled by a person: will not be tried again and is skipped by bulk replay. */
  | 'FAILED'
  /** Waiting for its time and for a worker. */
  | 'PENDING'
  /** Claimed by a worker. */
  | 'RUNNING';

/** Why a job will not be tried again. */
export type JobStopCause =
  /** Its enqueuer no longer wants it. */
  | 'CANCELLED'
  /** An administrator declared it broken. */
  | 'STOPPED';

/** What a message of a job stream is. */
export type JobUpdateType =
  /** One event. None is left out and each job's come in order of `revision`. */
  | 'EVENT'
  /** A progress report. Reports may be skipped; the latest always arrives. */
  | 'PROGRESS'
  /** History is gone or the client was too slow: this is the present state, go on from here. */
  | 'RESYNC'
  /** The state at the start of the stream. */
  | 'SNAPSHOT';

/** Which way to sort. */
export type OrderDirection =
  /** Smallest or oldest first. */
  | 'ASC'
  /** Largest or newest first. */
  | 'DESC';

/** What kind of identity acted. */
export type PrincipalKind =
  /** Another service. */
  | 'SERVICE'
  /** The service itself, e.g. stale-claim recovery. */
  | 'SYSTEM'
  /** A signed-in person. */
  | 'USER'
  /** A worker of this service. */
  | 'WORKER';

/** A search index to rebuild. */
export type ReindexInput = {
  /** Entity type key. */
  typeKey: string;
};

/** When a job becomes available: exactly one of the two. */
export type ScheduleInput =
  {   /** After this time. */
  after: string; at?: never; }
  |  { after?: never;   /** At this instant. */
  at: string; };

/** What a caller may do. `MANAGE_METADATA` is the administrator's permission. */
export type Scope =
  /** Cancel, reschedule and reprioritise jobs of one's tenants. */
  | 'CONTROL_JOBS'
  /** Enqueue jobs. */
  | 'ENQUEUE_JOBS'
  /** Replay, discard, stop, pause, limits, suppressions: the administrator. */
  | 'MANAGE_METADATA'
  /** Act across all tenants and on the platform itself. */
  | 'OPERATE_PLATFORM'
  /** Read the audit log and the email log. */
  | 'READ_AUDIT'
  /** See jobs, kinds, tenants, workers and statistics of one's tenants. */
  | 'READ_JOBS'
  /** See payloads and results unredacted. */
  | 'READ_PAYLOADS';

/** What to break statistics down by. */
export type StatsDimension =
  /** One row per kind. */
  | 'KIND'
  /** One row per tenant. */
  | 'TENANT';

/** What to do when nobody knows whether the provider took the message. */
export type UnknownDelivery =
  /** Put the job into the DLQ for a person to decide. */
  | 'HOLD'
  /** Send it once more, with the same Message-ID. */
  | 'RESEND';

/** An upload to scan. */
export type VirusScanInput = {
  /** The attachment. */
  attachmentId: string | number;
};

/** Why a due job waits. */
export type WaitCode =
  /** As many as allowed of its kind or tenant are running. */
  | 'CONCURRENCY_FULL'
  /** Other jobs come first: of other tenants in the round, or of its own tenant. */
  | 'IN_LINE'
  /** Its time has not come. */
  | 'NOT_YET_DUE'
  /** No living worker serves its kind and tenant. */
  | 'NO_WORKER'
  /** Its kind, its tenant or both are paused. */
  | 'PAUSED'
  /** No rate-limit token, of the tenant or of the provider. */
  | 'RATE_LIMITED'
  /** Its tenant is not active. */
  | 'TENANT_INACTIVE';

/** What a worker is doing. */
export type WorkerState =
  /** Working. */
  | 'BUSY'
  /** Finishing its job before it stops. */
  | 'DRAINING'
  /** Waiting for work. */
  | 'IDLE'
  /** No heartbeat. */
  | 'LOST';

export type ClientEnqueueMutationVariables = Exact<{
  input: EnqueueJobInput;
}>;


export type ClientEnqueueMutation = { enqueueJob: { outcome: EnqueueOutcome | null, job: { id: string, status: JobStatus, revision: number, attemptCount: number, maxAttempts: number, availableAt: string, nextAttemptAt: string | null, completedAt: string | null, streamCursor: string, result: unknown, progress: { percent: number | null, current: number | null, total: number | null, message: string | null } | null, lastError: { message: string } | null } | null, errors: Array<
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { pointer: string | null, code: ErrorCode, message: string, path: Array<string> }
    > } };

export type ClientWatchSubscriptionVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
  completeOn: Array<JobStatus> | JobStatus;
}>;


export type ClientWatchSubscription = { job: { type: JobUpdateType, cursor: string, event: { revision: number, type: JobEventType, at: string, fromStatus: JobStatus | null, toStatus: JobStatus | null, attempt: number | null, reason: string | null, error: { message: string } | null } | null, job: { id: string, status: JobStatus, revision: number, attemptCount: number, maxAttempts: number, availableAt: string, nextAttemptAt: string | null, completedAt: string | null, streamCursor: string, result: unknown, progress: { percent: number | null, current: number | null, total: number | null, message: string | null } | null, lastError: { message: string } | null } | null } };

export type ClientJobFragment = { id: string, status: JobStatus, revision: number, attemptCount: number, maxAttempts: number, availableAt: string, nextAttemptAt: string | null, completedAt: string | null, streamCursor: string, result: unknown, progress: { percent: number | null, current: number | null, total: number | null, message: string | null } | null, lastError: { message: string } | null };

export type ClientReplayJobsMutationVariables = Exact<{
  input: BulkJobsInput;
  preview: boolean;
}>;


export type ClientReplayJobsMutation = { replayJobs: { operation: { id: string, action: BulkAction, status: BulkOperationStatus, matched: number, processed: number, succeeded: number, skipped: number, error: string | null, createdAt: string, finishedAt: string | null } | null, preview?: { matched: { count: number, precision: CountPrecision }, rows: Array<{ count: number, kind: { name: string }, tenant: { key: string } | null }>, sample: Array<{ id: string, status: JobStatus, revision: number, attemptCount: number, maxAttempts: number, availableAt: string, nextAttemptAt: string | null, completedAt: string | null, streamCursor: string, result: unknown, progress: { percent: number | null, current: number | null, total: number | null, message: string | null } | null, lastError: { message: string } | null }> } | null, errors: Array<
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
    > } };

export type ClientDiscardJobsMutationVariables = Exact<{
  input: BulkJobsInput;
  preview: boolean;
}>;


export type ClientDiscardJobsMutation = { discardJobs: { operation: { id: string, action: BulkAction, status: BulkOperationStatus, matched: number, processed: number, succeeded: number, skipped: number, error: string | null, createdAt: string, finishedAt: string | null } | null, preview?: { matched: { count: number, precision: CountPrecision }, rows: Array<{ count: number, kind: { name: string }, tenant: { key: string } | null }>, sample: Array<{ id: string, status: JobStatus, revision: number, attemptCount: number, maxAttempts: number, availableAt: string, nextAttemptAt: string | null, completedAt: string | null, streamCursor: string, result: unknown, progress: { percent: number | null, current: number | null, total: number | null, message: string | null } | null, lastError: { message: string } | null }> } | null, errors: Array<
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
    > } };

export type ClientCancelJobsMutationVariables = Exact<{
  input: BulkJobsInput;
  preview: boolean;
}>;


export type ClientCancelJobsMutation = { cancelJobs: { operation: { id: string, action: BulkAction, status: BulkOperationStatus, matched: number, processed: number, succeeded: number, skipped: number, error: string | null, createdAt: string, finishedAt: string | null } | null, preview?: { matched: { count: number, precision: CountPrecision }, rows: Array<{ count: number, kind: { name: string }, tenant: { key: string } | null }>, sample: Array<{ id: string, status: JobStatus, revision: number, attemptCount: number, maxAttempts: number, availableAt: string, nextAttemptAt: string | null, completedAt: string | null, streamCursor: string, result: unknown, progress: { percent: number | null, current: number | null, total: number | null, message: string | null } | null, lastError: { message: string } | null }> } | null, errors: Array<
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
    > } };

export type ClientStopJobsMutationVariables = Exact<{
  input: BulkJobsInput;
  preview: boolean;
}>;


export type ClientStopJobsMutation = { stopJobs: { operation: { id: string, action: BulkAction, status: BulkOperationStatus, matched: number, processed: number, succeeded: number, skipped: number, error: string | null, createdAt: string, finishedAt: string | null } | null, preview?: { matched: { count: number, precision: CountPrecision }, rows: Array<{ count: number, kind: { name: string }, tenant: { key: string } | null }>, sample: Array<{ id: string, status: JobStatus, revision: number, attemptCount: number, maxAttempts: number, availableAt: string, nextAttemptAt: string | null, completedAt: string | null, streamCursor: string, result: unknown, progress: { percent: number | null, current: number | null, total: number | null, message: string | null } | null, lastError: { message: string } | null }> } | null, errors: Array<
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
    > } };

export type ClientBulkJobsFragment = { operation: { id: string, action: BulkAction, status: BulkOperationStatus, matched: number, processed: number, succeeded: number, skipped: number, error: string | null, createdAt: string, finishedAt: string | null } | null, preview?: { matched: { count: number, precision: CountPrecision }, rows: Array<{ count: number, kind: { name: string }, tenant: { key: string } | null }>, sample: Array<{ id: string, status: JobStatus, revision: number, attemptCount: number, maxAttempts: number, availableAt: string, nextAttemptAt: string | null, completedAt: string | null, streamCursor: string, result: unknown, progress: { percent: number | null, current: number | null, total: number | null, message: string | null } | null, lastError: { message: string } | null }> } | null, errors: Array<
    | { code: ErrorCode, message: string, path: Array<string> }
    | { code: ErrorCode, message: string, path: Array<string> }
    | { code: ErrorCode, message: string, path: Array<string> }
    | { code: ErrorCode, message: string, path: Array<string> }
  > };

export type ClientBulkOperationFragment = { id: string, action: BulkAction, status: BulkOperationStatus, matched: number, processed: number, succeeded: number, skipped: number, error: string | null, createdAt: string, finishedAt: string | null };

export type ClientWatchBulkSubscriptionVariables = Exact<{
  id: string | number;
}>;


export type ClientWatchBulkSubscription = { bulkOperation: { id: string, action: BulkAction, status: BulkOperationStatus, matched: number, processed: number, succeeded: number, skipped: number, error: string | null, createdAt: string, finishedAt: string | null } };

export type ClientCancelBulkMutationVariables = Exact<{
  id: string | number;
}>;


export type ClientCancelBulkMutation = { cancelBulkOperation: { operation: { id: string, action: BulkAction, status: BulkOperationStatus, matched: number, processed: number, succeeded: number, skipped: number, error: string | null, createdAt: string, finishedAt: string | null } | null, errors: Array<
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
    > } };

export type WhoAmIQueryVariables = Exact<{ [key: string]: never; }>;


export type WhoAmIQuery = { viewer: { scopes: Array<Scope>, allTenants: boolean, expiresAt: string | null, principal: { id: string, name: string | null, kind: PrincipalKind }, budget: { remaining: number, limit: number } | null }, service: { version: string, bus: BusDriver, streamLagSeconds: number } };

export type KindsQueryVariables = Exact<{ [key: string]: never; }>;


export type KindsQuery = { jobKinds: Array<{ name: string, description: string | null, inputField: string | null, payloadExample: unknown, staleAfter: string, defaultPriority: number, retry: { maxAttempts: number, schedule: Array<string> }, stats: { pending: number, running: number, dlq: number } }> };

export type EnqueueEmailMutationVariables = Exact<{
  to?: string;
}>;


export type EnqueueEmailMutation = { enqueueJob: { outcome: EnqueueOutcome | null, job: { id: string, status: JobStatus, streamCursor: string } | null, errors: Array<
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
    > } };

export type EnqueueAnyMutationVariables = Exact<{
  kind: string;
  payload: unknown;
}>;


export type EnqueueAnyMutation = { enqueueJob: { outcome: EnqueueOutcome | null, job: { id: string, availableAt: string } | null, errors: Array<
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { code: ErrorCode, message: string, path: Array<string> }
      | { pointer: string | null, keyword: string | null, code: ErrorCode, message: string, path: Array<string> }
    > } };

export type WatchJobSubscriptionVariables = Exact<{
  id: string | number;
  after?: string | null | undefined;
}>;


export type WatchJobSubscription = { job: { type: JobUpdateType, cursor: string, event: { type: JobEventType, at: string, attempt: number | null, error: { message: string } | null } | null, job: { id: string, status: JobStatus, attemptCount: number, maxAttempts: number, nextAttemptAt: string | null, progress: { percent: number | null, message: string | null } | null, lastError: { message: string } | null } | null } };

export type DeadLetterGroupsQueryVariables = Exact<{ [key: string]: never; }>;


export type DeadLetterGroupsQuery = { deadLetterGroups: Array<{ id: string, count: number, firstAt: string, lastAt: string, kind: { name: string } | null, error: { message: string, fingerprint: string } | null, sample: { id: string } }> };

export type DeadLettersQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type DeadLettersQuery = { deadLetters: { totalCount: { count: number, precision: CountPrecision }, pageInfo: { hasNextPage: boolean, endCursor: string | null }, nodes: Array<{ id: string, attemptCount: number, completedAt: string | null, payload: unknown, allowedActions: Array<JobAction>, kind: { name: string }, tenant: { name: string }, lastError: { message: string } | null }> } };

export type ReplayJobMutationVariables = Exact<{
  id: string | number;
}>;


export type ReplayJobMutation = { replayJob: { job: { id: string, status: JobStatus, attemptCount: number, availableAt: string } | null, errors: Array<
      | { code: ErrorCode, message: string, job: { status: JobStatus, revision: number } }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type ReplayPreviewMutationVariables = Exact<{ [key: string]: never; }>;


export type ReplayPreviewMutation = { replayJobs: { preview: { matched: { count: number, precision: CountPrecision }, rows: Array<{ count: number, kind: { name: string }, tenant: { name: string } | null }>, sample: Array<{ id: string, lastError: { message: string } | null }> } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type ReplayNowMutationVariables = Exact<{
  n: number;
}>;


export type ReplayNowMutation = { replayJobs: { operation: { id: string, status: BulkOperationStatus, matched: number } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { limit: number, actual: number, code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type WatchBulkSubscriptionVariables = Exact<{
  id: string | number;
}>;


export type WatchBulkSubscription = { bulkOperation: { status: BulkOperationStatus, processed: number, matched: number, succeeded: number, skipped: number } };

export type DiscardJobMutationVariables = Exact<{
  id: string | number;
}>;


export type DiscardJobMutation = { discardJob: { discardedJobId: string | null, auditEntry: { id: string, snapshot: unknown } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type JobDetailQueryVariables = Exact<{
  id: string | number;
}>;


export type JobDetailQuery = { job: { id: string, status: JobStatus, priority: number, payload: unknown, payloadText: string | null, payloadRedacted: boolean, result: unknown, attemptCount: number, maxAttempts: number, availableAt: string, createdAt: string, claimedAt: string | null, staleAt: string | null, completedAt: string | null, waitSeconds: number | null, runSeconds: number | null, revision: number, streamCursor: string, allowedActions: Array<JobAction>, idempotencyKey: string | null, correlationId: string | null, traceId: string | null, tags: Array<string>, waitReasons: Array<{ code: WaitCode, message: string, until: string | null, position: number | null }>, kind: { name: string, retry: { schedule: Array<string> } }, tenant: { id: string, name: string }, claimedBy: { name: string } | null, enqueuedBy: { name: string | null, kind: PrincipalKind } | null, lastError: { name: string | null, message: string, detail: string | null, fingerprint: string, at: string } | null, progress: { percent: number | null, current: number | null, total: number | null, message: string | null, updatedAt: string } | null, stop: { cause: JobStopCause, reason: string | null, requestedAt: string, by: { name: string | null } } | null, events: { nodes: Array<{ revision: number, type: JobEventType, at: string, fromStatus: JobStatus | null, toStatus: JobStatus | null, attempt: number | null, reason: string | null, actor: { name: string | null } | null, error: { message: string } | null }> }, attempts: { nodes: Array<{ number: number, outcome: AttemptOutcome, startedAt: string, finishedAt: string | null, runSeconds: number | null, log: Array<string>, worker: { name: string } | null, error: { message: string, detail: string | null } | null }> }, auditLog: { nodes: Array<{ at: string, action: AuditAction, reason: string | null, actor: { name: string | null } }> }, emailLogs: { nodes: Array<{ recipient: string, status: EmailStatus, provider: string, providerMessageId: string | null }> } } | null };

export type JobListQueryVariables = Exact<{
  filter?: JobFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  orderBy?: JobOrder;
}>;


export type JobListQuery = { jobs: { streamCursor: string, totalCount: { count: number, precision: CountPrecision }, pageInfo: { hasNextPage: boolean, endCursor: string | null }, nodes: Array<{ id: string, status: JobStatus, priority: number, attemptCount: number, maxAttempts: number, availableAt: string, createdAt: string, completedAt: string | null, revision: number, allowedActions: Array<JobAction>, kind: { name: string }, tenant: { name: string }, lastError: { message: string } | null }> } };

export type JobListUpdatesSubscriptionVariables = Exact<{
  filter?: JobFilter | null | undefined;
  after: string;
}>;


export type JobListUpdatesSubscription = { jobs: { cursor: string, resync: boolean, updates: Array<{ type: JobUpdateType, jobId: string, matchesFilter: boolean, job: { id: string, status: JobStatus, priority: number, attemptCount: number, maxAttempts: number, availableAt: string, createdAt: string, completedAt: string | null, revision: number, allowedActions: Array<JobAction>, kind: { name: string }, tenant: { name: string }, lastError: { message: string } | null } | null }> } };

export type JobRowFragment = { id: string, status: JobStatus, priority: number, attemptCount: number, maxAttempts: number, availableAt: string, createdAt: string, completedAt: string | null, revision: number, allowedActions: Array<JobAction>, kind: { name: string }, tenant: { name: string }, lastError: { message: string } | null };

export type PulseSubscriptionVariables = Exact<{
  groupBy?: Array<StatsDimension> | StatsDimension;
}>;


export type PulseSubscription = { queueStats: { at: string, total: { pending: number, scheduled: number, running: number, dlq: number, failed: number, oldestPendingSeconds: number | null, donePerSecond: number, errorsPerSecond: number, enqueuedPerSecond: number, throttledPerSecond: number, wait: { p50: number | null, p95: number | null, p99: number | null }, run: { p50: number | null, p95: number | null, p99: number | null } }, rows: Array<{ pending: number, scheduled: number, running: number, dlq: number, failed: number, oldestPendingSeconds: number | null, donePerSecond: number, errorsPerSecond: number, enqueuedPerSecond: number, throttledPerSecond: number, kind: { name: string } | null, tenant: { name: string } | null, wait: { p50: number | null, p95: number | null, p99: number | null }, run: { p50: number | null, p95: number | null, p99: number | null } }> } };

export type SFragment = { pending: number, scheduled: number, running: number, dlq: number, failed: number, oldestPendingSeconds: number | null, donePerSecond: number, errorsPerSecond: number, enqueuedPerSecond: number, throttledPerSecond: number, wait: { p50: number | null, p95: number | null, p99: number | null }, run: { p50: number | null, p95: number | null, p99: number | null } };

export type ChartsQueryVariables = Exact<{
  range?: DateTimeRangeInput | null | undefined;
}>;


export type ChartsQuery = { jobMetrics: Array<{ metric: JobMetric, kind: { name: string } | null, points: Array<{ at: string, value: number | null }> }> };

export type InstancesQueryVariables = Exact<{ [key: string]: never; }>;


export type InstancesQuery = { instances: Array<{ id: string, host: string | null, pid: number | null, version: string, startedAt: string, lastSeenAt: string, eventLoopDelaySeconds: number, subscriptions: number, workers: Array<{ name: string, state: WorkerState, currentJob: { id: string, runSeconds: number | null, kind: { name: string } } | null }> }> };

export type InstancesLiveSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type InstancesLiveSubscription = { instances: Array<{ id: string, lastSeenAt: string, eventLoopDelaySeconds: number, subscriptions: number, workers: Array<{ id: string, name: string, state: WorkerState, currentJob: { id: string } | null }> }> };

export type PauseMutationVariables = Exact<{
  kind?: string | null | undefined;
}>;


export type PauseMutation = { pauseQueue: { pause: { id: string, since: string, until: string | null } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type ResumeMutationVariables = Exact<{
  kind?: string | null | undefined;
}>;


export type ResumeMutation = { resumeQueue: { pause: { id: string } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type LimitMutationVariables = Exact<{
  tenantId: string | number;
}>;


export type LimitMutation = { setRateLimit: { rateLimit: { overridden: boolean, hitsPerMinute: number, limit: { rps: number, burst: number } | null } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type AuditQueryVariables = Exact<{ [key: string]: never; }>;


export type AuditQuery = { auditLog: { nodes: Array<{ at: string, action: AuditAction, jobId: string | null, reason: string | null, requestId: string | null, actor: { name: string | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } };

export type EmailsQueryVariables = Exact<{ [key: string]: never; }>;


export type EmailsQuery = { emailLogs: { nodes: Array<{ createdAt: string, recipient: string, status: EmailStatus, provider: string, providerMessageId: string | null, job: { id: string } | null }> } };

export type SuppressMutationVariables = Exact<{ [key: string]: never; }>;


export type SuppressMutation = { addSuppression: { suppression: { id: string, address: string } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type EnqueueManyMutationVariables = Exact<{
  jobs: Array<EnqueueJobInput> | EnqueueJobInput;
}>;


export type EnqueueManyMutation = { enqueueJobs: { created: number, results: Array<{ outcome: EnqueueOutcome | null, job: { id: string } | null, errors: Array<
        | { code: ErrorCode, message: string }
        | { code: ErrorCode, message: string }
        | { code: ErrorCode, message: string }
        | { code: ErrorCode, message: string }
      > }>, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type LaterMutationVariables = Exact<{
  id: string | number;
}>;


export type LaterMutation = { rescheduleJob: { job: { id: string, availableAt: string } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type FirstMutationVariables = Exact<{
  id: string | number;
}>;


export type FirstMutation = { reprioritizeJob: { job: { id: string, priority: number } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type NowMutationVariables = Exact<{
  id: string | number;
}>;


export type NowMutation = { runJobNow: { job: { id: string, availableAt: string } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type CancelMutationVariables = Exact<{
  id: string | number;
}>;


export type CancelMutation = { cancelJob: { job: { id: string, status: JobStatus, stop: { cause: JobStopCause } | null } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export type StopMutationVariables = Exact<{
  id: string | number;
}>;


export type StopMutation = { stopJob: { job: { id: string, status: JobStatus } | null, errors: Array<
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
      | { code: ErrorCode, message: string }
    > } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const ClientBulkOperationFragmentDoc = new TypedDocumentString(`
    fragment ClientBulkOperation on BulkOperation {
  id
  action
  status
  matched
  processed
  succeeded
  skipped
  error
  createdAt
  finishedAt
}
    `, {"fragmentName":"ClientBulkOperation"}) as unknown as TypedDocumentString<ClientBulkOperationFragment, unknown>;
export const ClientJobFragmentDoc = new TypedDocumentString(`
    fragment ClientJob on Job {
  id
  status
  revision
  attemptCount
  maxAttempts
  availableAt
  nextAttemptAt
  completedAt
  streamCursor
  result
  progress {
    percent
    current
    total
    message
  }
  lastError {
    message
  }
}
    `, {"fragmentName":"ClientJob"}) as unknown as TypedDocumentString<ClientJobFragment, unknown>;
export const ClientBulkJobsFragmentDoc = new TypedDocumentString(`
    fragment ClientBulkJobs on BulkJobsPayload {
  operation {
    ...ClientBulkOperation
  }
  preview @include(if: $preview) {
    matched {
      count
      precision
    }
    rows {
      kind {
        name
      }
      tenant {
        key
      }
      count
    }
    sample(first: 10) {
      ...ClientJob
    }
  }
  errors {
    code
    message
    path
  }
}
    fragment ClientJob on Job {
  id
  status
  revision
  attemptCount
  maxAttempts
  availableAt
  nextAttemptAt
  completedAt
  streamCursor
  result
  progress {
    percent
    current
    total
    message
  }
  lastError {
    message
  }
}
fragment ClientBulkOperation on BulkOperation {
  id
  action
  status
  matched
  processed
  succeeded
  skipped
  error
  createdAt
  finishedAt
}`, {"fragmentName":"ClientBulkJobs"}) as unknown as TypedDocumentString<ClientBulkJobsFragment, unknown>;
export const JobRowFragmentDoc = new TypedDocumentString(`
    fragment JobRow on Job {
  id
  status
  priority
  attemptCount
  maxAttempts
  availableAt
  createdAt
  completedAt
  revision
  kind {
    name
  }
  tenant {
    name
  }
  lastError {
    message
  }
  allowedActions
}
    `, {"fragmentName":"JobRow"}) as unknown as TypedDocumentString<JobRowFragment, unknown>;
export const SFragmentDoc = new TypedDocumentString(`
    fragment S on QueueStats {
  pending
  scheduled
  running
  dlq
  failed
  oldestPendingSeconds
  donePerSecond
  errorsPerSecond
  enqueuedPerSecond
  throttledPerSecond
  wait {
    p50
    p95
    p99
  }
  run {
    p50
    p95
    p99
  }
}
    `, {"fragmentName":"S"}) as unknown as TypedDocumentString<SFragment, unknown>;
export const ClientEnqueueDocument = new TypedDocumentString(`
    mutation ClientEnqueue($input: EnqueueJobInput!) {
  enqueueJob(input: $input) {
    outcome
    job {
      ...ClientJob
    }
    errors {
      code
      message
      path
      ... on ValidationError {
        pointer
      }
    }
  }
}
    fragment ClientJob on Job {
  id
  status
  revision
  attemptCount
  maxAttempts
  availableAt
  nextAttemptAt
  completedAt
  streamCursor
  result
  progress {
    percent
    current
    total
    message
  }
  lastError {
    message
  }
}`) as unknown as TypedDocumentString<ClientEnqueueMutation, ClientEnqueueMutationVariables>;
export const ClientWatchDocument = new TypedDocumentString(`
    subscription ClientWatch($id: ID!, $after: String, $completeOn: [JobStatus!]!) {
  job(id: $id, after: $after, completeOn: $completeOn) {
    type
    cursor
    event {
      revision
      type
      at
      fromStatus
      toStatus
      attempt
      error {
        message
      }
      reason
    }
    job {
      ...ClientJob
    }
  }
}
    fragment ClientJob on Job {
  id
  status
  revision
  attemptCount
  maxAttempts
  availableAt
  nextAttemptAt
  completedAt
  streamCursor
  result
  progress {
    percent
    current
    total
    message
  }
  lastError {
    message
  }
}`) as unknown as TypedDocumentString<ClientWatchSubscription, ClientWatchSubscriptionVariables>;
export const ClientReplayJobsDocument = new TypedDocumentString(`
    mutation ClientReplayJobs($input: BulkJobsInput!, $preview: Boolean!) {
  replayJobs(input: $input) {
    ...ClientBulkJobs
  }
}
    fragment ClientJob on Job {
  id
  status
  revision
  attemptCount
  maxAttempts
  availableAt
  nextAttemptAt
  completedAt
  streamCursor
  result
  progress {
    percent
    current
    total
    message
  }
  lastError {
    message
  }
}
fragment ClientBulkJobs on BulkJobsPayload {
  operation {
    ...ClientBulkOperation
  }
  preview @include(if: $preview) {
    matched {
      count
      precision
    }
    rows {
      kind {
        name
      }
      tenant {
        key
      }
      count
    }
    sample(first: 10) {
      ...ClientJob
    }
  }
  errors {
    code
    message
    path
  }
}
fragment ClientBulkOperation on BulkOperation {
  id
  action
  status
  matched
  processed
  succeeded
  skipped
  error
  createdAt
  finishedAt
}`) as unknown as TypedDocumentString<ClientReplayJobsMutation, ClientReplayJobsMutationVariables>;
export const ClientDiscardJobsDocument = new TypedDocumentString(`
    mutation ClientDiscardJobs($input: BulkJobsInput!, $preview: Boolean!) {
  discardJobs(input: $input) {
    ...ClientBulkJobs
  }
}
    fragment ClientJob on Job {
  id
  status
  revision
  attemptCount
  maxAttempts
  availableAt
  nextAttemptAt
  completedAt
  streamCursor
  result
  progress {
    percent
    current
    total
    message
  }
  lastError {
    message
  }
}
fragment ClientBulkJobs on BulkJobsPayload {
  operation {
    ...ClientBulkOperation
  }
  preview @include(if: $preview) {
    matched {
      count
      precision
    }
    rows {
      kind {
        name
      }
      tenant {
        key
      }
      count
    }
    sample(first: 10) {
      ...ClientJob
    }
  }
  errors {
    code
    message
    path
  }
}
fragment ClientBulkOperation on BulkOperation {
  id
  action
  status
  matched
  processed
  succeeded
  skipped
  error
  createdAt
  finishedAt
}`) as unknown as TypedDocumentString<ClientDiscardJobsMutation, ClientDiscardJobsMutationVariables>;
export const ClientCancelJobsDocument = new TypedDocumentString(`
    mutation ClientCancelJobs($input: BulkJobsInput!, $preview: Boolean!) {
  cancelJobs(input: $input) {
    ...ClientBulkJobs
  }
}
    fragment ClientJob on Job {
  id
  status
  revision
  attemptCount
  maxAttempts
  availableAt
  nextAttemptAt
  completedAt
  streamCursor
  result
  progress {
    percent
    current
    total
    message
  }
  lastError {
    message
  }
}
fragment ClientBulkJobs on BulkJobsPayload {
  operation {
    ...ClientBulkOperation
  }
  preview @include(if: $preview) {
    matched {
      count
      precision
    }
    rows {
      kind {
        name
      }
      tenant {
        key
      }
      count
    }
    sample(first: 10) {
      ...ClientJob
    }
  }
  errors {
    code
    message
    path
  }
}
fragment ClientBulkOperation on BulkOperation {
  id
  action
  status
  matched
  processed
  succeeded
  skipped
  error
  createdAt
  finishedAt
}`) as unknown as TypedDocumentString<ClientCancelJobsMutation, ClientCancelJobsMutationVariables>;
export const ClientStopJobsDocument = new TypedDocumentString(`
    mutation ClientStopJobs($input: BulkJobsInput!, $preview: Boolean!) {
  stopJobs(input: $input) {
    ...ClientBulkJobs
  }
}
    fragment ClientJob on Job {
  id
  status
  revision
  attemptCount
  maxAttempts
  availableAt
  nextAttemptAt
  completedAt
  streamCursor
  result
  progress {
    percent
    current
    total
    message
  }
  lastError {
    message
  }
}
fragment ClientBulkJobs on BulkJobsPayload {
  operation {
    ...ClientBulkOperation
  }
  preview @include(if: $preview) {
    matched {
      count
      precision
    }
    rows {
      kind {
        name
      }
      tenant {
        key
      }
      count
    }
    sample(first: 10) {
      ...ClientJob
    }
  }
  errors {
    code
    message
    path
  }
}
fragment ClientBulkOperation on BulkOperation {
  id
  action
  status
  matched
  processed
  succeeded
  skipped
  error
  createdAt
  finishedAt
}`) as unknown as TypedDocumentString<ClientStopJobsMutation, ClientStopJobsMutationVariables>;
export const ClientWatchBulkDocument = new TypedDocumentString(`
    subscription ClientWatchBulk($id: ID!) {
  bulkOperation(id: $id) {
    ...ClientBulkOperation
  }
}
    fragment ClientBulkOperation on BulkOperation {
  id
  action
  status
  matched
  processed
  succeeded
  skipped
  error
  createdAt
  finishedAt
}`) as unknown as TypedDocumentString<ClientWatchBulkSubscription, ClientWatchBulkSubscriptionVariables>;
export const ClientCancelBulkDocument = new TypedDocumentString(`
    mutation ClientCancelBulk($id: ID!) {
  cancelBulkOperation(input: { id: $id }) {
    operation {
      ...ClientBulkOperation
    }
    errors {
      code
      message
      path
    }
  }
}
    fragment ClientBulkOperation on BulkOperation {
  id
  action
  status
  matched
  processed
  succeeded
  skipped
  error
  createdAt
  finishedAt
}`) as unknown as TypedDocumentString<ClientCancelBulkMutation, ClientCancelBulkMutationVariables>;
export const WhoAmIDocument = new TypedDocumentString(`
    query WhoAmI {
  viewer {
    principal {
      id
      name
      kind
    }
    scopes
    allTenants
    expiresAt
    budget {
      remaining
      limit
    }
  }
  service {
    version
    bus
    streamLagSeconds
  }
}
    `) as unknown as TypedDocumentString<WhoAmIQuery, WhoAmIQueryVariables>;
export const KindsDocument = new TypedDocumentString(`
    query Kinds {
  jobKinds {
    name
    description
    inputField
    payloadExample
    retry {
      maxAttempts
      schedule
    }
    staleAfter
    defaultPriority
    stats {
      pending
      running
      dlq
    }
  }
}
    `) as unknown as TypedDocumentString<KindsQuery, KindsQueryVariables>;
export const EnqueueEmailDocument = new TypedDocumentString(`
    mutation EnqueueEmail($to: String! = "ada@example.org") {
  enqueueJob(
    input: {
      job: {
        emailSend: {
          to: { address: $to }
          template: { key: "welcome", variables: { name: "Ada" } }
        }
      }
      idempotencyKey: "welcome-ada"
    }
  ) {
    outcome
    job {
      id
      status
      streamCursor
    }
    errors {
      code
      message
      path
    }
  }
}
    `) as unknown as TypedDocumentString<EnqueueEmailMutation, EnqueueEmailMutationVariables>;
export const EnqueueAnyDocument = new TypedDocumentString(`
    mutation EnqueueAny($kind: String!, $payload: JSON!) {
  enqueueJob(
    input: {
      job: { custom: { kind: $kind, payload: $payload } }
      schedule: { after: "PT10S" }
    }
  ) {
    outcome
    job {
      id
      availableAt
    }
    errors {
      code
      message
      path
      ... on ValidationError {
        pointer
        keyword
      }
    }
  }
}
    `) as unknown as TypedDocumentString<EnqueueAnyMutation, EnqueueAnyMutationVariables>;
export const WatchJobDocument = new TypedDocumentString(`
    subscription WatchJob($id: ID!, $after: String) {
  job(id: $id, after: $after) {
    type
    cursor
    event {
      type
      at
      attempt
      error {
        message
      }
    }
    job {
      id
      status
      attemptCount
      maxAttempts
      nextAttemptAt
      progress {
        percent
        message
      }
      lastError {
        message
      }
    }
  }
}
    `) as unknown as TypedDocumentString<WatchJobSubscription, WatchJobSubscriptionVariables>;
export const DeadLetterGroupsDocument = new TypedDocumentString(`
    query DeadLetterGroups {
  deadLetterGroups(by: [KIND, ERROR], first: 20) {
    id
    kind {
      name
    }
    count
    firstAt
    lastAt
    error {
      message
      fingerprint
    }
    sample {
      id
    }
  }
}
    `) as unknown as TypedDocumentString<DeadLetterGroupsQuery, DeadLetterGroupsQueryVariables>;
export const DeadLettersDocument = new TypedDocumentString(`
    query DeadLetters($after: String) {
  deadLetters(first: 20, after: $after) {
    totalCount {
      count
      precision
    }
    pageInfo {
      hasNextPage
      endCursor
    }
    nodes {
      id
      kind {
        name
      }
      tenant {
        name
      }
      attemptCount
      completedAt
      lastError {
        message
      }
      payload
      allowedActions
    }
  }
}
    `) as unknown as TypedDocumentString<DeadLettersQuery, DeadLettersQueryVariables>;
export const ReplayJobDocument = new TypedDocumentString(`
    mutation ReplayJob($id: ID!) {
  replayJob(input: { id: $id, reason: "provider is back" }) {
    job {
      id
      status
      attemptCount
      availableAt
    }
    errors {
      code
      message
      ... on ConflictError {
        job {
          status
          revision
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ReplayJobMutation, ReplayJobMutationVariables>;
export const ReplayPreviewDocument = new TypedDocumentString(`
    mutation ReplayPreview {
  replayJobs(
    input: {
      select: { filter: { kind: ["email_send"], errorText: "timeout" } }
      dryRun: true
    }
  ) {
    preview {
      matched {
        count
        precision
      }
      rows {
        kind {
          name
        }
        tenant {
          name
        }
        count
      }
      sample {
        id
        lastError {
          message
        }
      }
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<ReplayPreviewMutation, ReplayPreviewMutationVariables>;
export const ReplayNowDocument = new TypedDocumentString(`
    mutation ReplayNow($n: Int!) {
  replayJobs(
    input: {
      select: { filter: { kind: ["email_send"], errorText: "timeout" } }
      dryRun: false
      expectedCount: $n
      ratePerSecond: 20
      reason: "provider is back"
    }
  ) {
    operation {
      id
      status
      matched
    }
    errors {
      code
      message
      ... on LimitError {
        limit
        actual
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ReplayNowMutation, ReplayNowMutationVariables>;
export const WatchBulkDocument = new TypedDocumentString(`
    subscription WatchBulk($id: ID!) {
  bulkOperation(id: $id) {
    status
    processed
    matched
    succeeded
    skipped
  }
}
    `) as unknown as TypedDocumentString<WatchBulkSubscription, WatchBulkSubscriptionVariables>;
export const DiscardJobDocument = new TypedDocumentString(`
    mutation DiscardJob($id: ID!) {
  discardJob(input: { id: $id, reason: "recipient left" }) {
    discardedJobId
    auditEntry {
      id
      snapshot
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<DiscardJobMutation, DiscardJobMutationVariables>;
export const JobDetailDocument = new TypedDocumentString(`
    query JobDetail($id: ID!) {
  job(id: $id) {
    id
    status
    priority
    payload
    payloadText
    payloadRedacted
    result
    attemptCount
    maxAttempts
    availableAt
    createdAt
    claimedAt
    staleAt
    completedAt
    waitReasons {
      code
      message
      until
      position
    }
    waitSeconds
    runSeconds
    revision
    streamCursor
    allowedActions
    idempotencyKey
    correlationId
    traceId
    tags
    kind {
      name
      retry {
        schedule
      }
    }
    tenant {
      id
      name
    }
    claimedBy {
      name
    }
    enqueuedBy {
      name
      kind
    }
    lastError {
      name
      message
      detail
      fingerprint
      at
    }
    progress {
      percent
      current
      total
      message
      updatedAt
    }
    stop {
      cause
      reason
      by {
        name
      }
      requestedAt
    }
    events(first: 50) {
      nodes {
        revision
        type
        at
        fromStatus
        toStatus
        attempt
        actor {
          name
        }
        error {
          message
        }
        reason
      }
    }
    attempts(first: 20) {
      nodes {
        number
        outcome
        startedAt
        finishedAt
        runSeconds
        worker {
          name
        }
        error {
          message
          detail
        }
        log
      }
    }
    auditLog(first: 20) {
      nodes {
        at
        action
        actor {
          name
        }
        reason
      }
    }
    emailLogs(first: 5) {
      nodes {
        recipient
        status
        provider
        providerMessageId
      }
    }
  }
}
    `) as unknown as TypedDocumentString<JobDetailQuery, JobDetailQueryVariables>;
export const JobListDocument = new TypedDocumentString(`
    query JobList($filter: JobFilter, $first: Int = 50, $after: String, $orderBy: JobOrder! = { field: CREATED_AT, direction: DESC }) {
  jobs(filter: $filter, first: $first, after: $after, orderBy: $orderBy) {
    streamCursor
    totalCount {
      count
      precision
    }
    pageInfo {
      hasNextPage
      endCursor
    }
    nodes {
      ...JobRow
    }
  }
}
    fragment JobRow on Job {
  id
  status
  priority
  attemptCount
  maxAttempts
  availableAt
  createdAt
  completedAt
  revision
  kind {
    name
  }
  tenant {
    name
  }
  lastError {
    message
  }
  allowedActions
}`) as unknown as TypedDocumentString<JobListQuery, JobListQueryVariables>;
export const JobListUpdatesDocument = new TypedDocumentString(`
    subscription JobListUpdates($filter: JobFilter, $after: String!) {
  jobs(filter: $filter, after: $after, conflate: true) {
    cursor
    resync
    updates {
      type
      jobId
      matchesFilter
      job {
        ...JobRow
      }
    }
  }
}
    fragment JobRow on Job {
  id
  status
  priority
  attemptCount
  maxAttempts
  availableAt
  createdAt
  completedAt
  revision
  kind {
    name
  }
  tenant {
    name
  }
  lastError {
    message
  }
  allowedActions
}`) as unknown as TypedDocumentString<JobListUpdatesSubscription, JobListUpdatesSubscriptionVariables>;
export const PulseDocument = new TypedDocumentString(`
    subscription Pulse($groupBy: [StatsDimension!]! = [KIND]) {
  queueStats(groupBy: $groupBy, every: "PT1S") {
    at
    total {
      ...S
    }
    rows {
      kind {
        name
      }
      tenant {
        name
      }
      ...S
    }
  }
}
    fragment S on QueueStats {
  pending
  scheduled
  running
  dlq
  failed
  oldestPendingSeconds
  donePerSecond
  errorsPerSecond
  enqueuedPerSecond
  throttledPerSecond
  wait {
    p50
    p95
    p99
  }
  run {
    p50
    p95
    p99
  }
}`) as unknown as TypedDocumentString<PulseSubscription, PulseSubscriptionVariables>;
export const ChartsDocument = new TypedDocumentString(`
    query Charts($range: DateTimeRangeInput) {
  jobMetrics(
    metrics: [DONE, ERRORS, PENDING, WAIT_P95]
    range: $range
    groupBy: [KIND]
  ) {
    metric
    kind {
      name
    }
    points {
      at
      value
    }
  }
}
    `) as unknown as TypedDocumentString<ChartsQuery, ChartsQueryVariables>;
export const InstancesDocument = new TypedDocumentString(`
    query Instances {
  instances {
    id
    host
    pid
    version
    startedAt
    lastSeenAt
    eventLoopDelaySeconds
    subscriptions
    workers {
      name
      state
      currentJob {
        id
        kind {
          name
        }
        runSeconds
      }
    }
  }
}
    `) as unknown as TypedDocumentString<InstancesQuery, InstancesQueryVariables>;
export const InstancesLiveDocument = new TypedDocumentString(`
    subscription InstancesLive {
  instances {
    id
    lastSeenAt
    eventLoopDelaySeconds
    subscriptions
    workers {
      id
      name
      state
      currentJob {
        id
      }
    }
  }
}
    `) as unknown as TypedDocumentString<InstancesLiveSubscription, InstancesLiveSubscriptionVariables>;
export const PauseDocument = new TypedDocumentString(`
    mutation Pause($kind: String) {
  pauseQueue(
    input: {
      queue: { kind: $kind }
      until: "2030-01-01T00:00:00Z"
      reason: "provider maintenance"
    }
  ) {
    pause {
      id
      since
      until
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<PauseMutation, PauseMutationVariables>;
export const ResumeDocument = new TypedDocumentString(`
    mutation Resume($kind: String) {
  resumeQueue(input: { queue: { kind: $kind } }) {
    pause {
      id
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<ResumeMutation, ResumeMutationVariables>;
export const LimitDocument = new TypedDocumentString(`
    mutation Limit($tenantId: ID!) {
  setRateLimit(
    input: { tenantId: $tenantId, kind: "email_send", limit: { rps: 5, burst: 10 } }
  ) {
    rateLimit {
      limit {
        rps
        burst
      }
      overridden
      hitsPerMinute
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<LimitMutation, LimitMutationVariables>;
export const AuditDocument = new TypedDocumentString(`
    query Audit {
  auditLog(first: 50, filter: { action: [JOB_REPLAY, JOB_DISCARD] }) {
    nodes {
      at
      action
      actor {
        name
      }
      jobId
      reason
      requestId
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<AuditQuery, AuditQueryVariables>;
export const EmailsDocument = new TypedDocumentString(`
    query Emails {
  emailLogs(first: 50, filter: { status: [BOUNCED, COMPLAINED] }) {
    nodes {
      createdAt
      recipient
      status
      provider
      providerMessageId
      job {
        id
      }
    }
  }
}
    `) as unknown as TypedDocumentString<EmailsQuery, EmailsQueryVariables>;
export const SuppressDocument = new TypedDocumentString(`
    mutation Suppress {
  addSuppression(
    input: {
      address: "gone@example.org"
      tenantId: "tenant_default"
      note: "asked by phone"
    }
  ) {
    suppression {
      id
      address
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<SuppressMutation, SuppressMutationVariables>;
export const EnqueueManyDocument = new TypedDocumentString(`
    mutation EnqueueMany($jobs: [EnqueueJobInput!]!) {
  enqueueJobs(input: { jobs: $jobs }) {
    created
    results {
      outcome
      job {
        id
      }
      errors {
        code
        message
      }
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<EnqueueManyMutation, EnqueueManyMutationVariables>;
export const LaterDocument = new TypedDocumentString(`
    mutation Later($id: ID!) {
  rescheduleJob(input: { id: $id, schedule: { after: "PT1H" } }) {
    job {
      id
      availableAt
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<LaterMutation, LaterMutationVariables>;
export const FirstDocument = new TypedDocumentString(`
    mutation First($id: ID!) {
  reprioritizeJob(input: { id: $id, priority: 10 }) {
    job {
      id
      priority
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<FirstMutation, FirstMutationVariables>;
export const NowDocument = new TypedDocumentString(`
    mutation Now($id: ID!) {
  runJobNow(input: { id: $id }) {
    job {
      id
      availableAt
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<NowMutation, NowMutationVariables>;
export const CancelDocument = new TypedDocumentString(`
    mutation Cancel($id: ID!) {
  cancelJob(input: { id: $id, reason: "user left" }) {
    job {
      id
      status
      stop {
        cause
      }
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<CancelMutation, CancelMutationVariables>;
export const StopDocument = new TypedDocumentString(`
    mutation Stop($id: ID!) {
  stopJob(input: { id: $id, reason: "broken for good" }) {
    job {
      id
      status
    }
    errors {
      code
      message
    }
  }
}
    `) as unknown as TypedDocumentString<StopMutation, StopMutationVariables>;