import { parseExactly } from '../jobs/parse-exactly.ts'
import { auditActionOf } from '../resolvers/audit-action.ts'
import { auditActor } from '../resolvers/list-audit.ts'
import type { AuditNews, AuditRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { JobRef } from './job-ref.ts'
import { NodeRef } from './node.ts'
import { PrincipalRef } from './principal.ts'
import { TenantRef } from './tenant.ts'

export const AuditActionRef = builder.enumType('AuditAction', {
  description: 'What was done.',
  values: {
    JOB_ENQUEUED: { description: 'Job created.' },
    JOB_DONE: { description: 'Job finished.' },
    JOB_DLQ: { description: 'Job went to the DLQ.' },
    JOB_REPLAY: { description: 'Job put back by a person.' },
    JOB_DISCARD: { description: 'Job deleted by a person; `snapshot` holds its payload.' },
    JOB_CANCEL: { description: 'Job cancelled.' },
    JOB_STOP: { description: 'Job stopped.' },
    JOB_UPDATE: { description: "Job's time or priority changed." },
    QUEUE_PAUSE: { description: 'Claiming paused.' },
    QUEUE_RESUME: { description: 'Claiming resumed.' },
    RATE_LIMIT_SET: { description: 'Rate limit changed.' },
    CONCURRENCY_LIMIT_SET: { description: 'Concurrency limit changed.' },
    TENANT_CHANGE: { description: 'Tenant created, changed or closed.' },
    API_KEY_CHANGE: { description: 'Key for a service made or revoked.' },
    SUPPRESSION_ADD: { description: 'Address suppressed.' },
    SUPPRESSION_REMOVE: { description: 'Suppression lifted.' },
    EMAIL_SENT: { description: 'Email handed to the provider.' },
    BULK_END: { description: 'Bulk operation ended.' },
    BULK_START: { description: 'Bulk operation started.' },
    WEBHOOK_CHANGE: { description: 'Endpoint made, changed or switched off.' },
    ATTACHMENT_SCANNED: { description: 'Attachment scanned.' },
    INDEX_CHANGE: { description: 'Index built, dropped or failed.' },
    IMPORT_DONE: { description: 'Import ended.' },
    REINDEX_DONE: { description: 'Search vectors rebuilt.' },
    DOCUMENT_PROCESSED: { description: 'Document read.' },
    METADATA_CHANGE: { description: 'Type, term, workflow or template changed.' },
  } as const,
})

export const AuditEntryRef = builder.objectRef<AuditRow>('AuditEntry').implement({
  description: "One line of the audit log. Never changed; kept for the journal's retention.",
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `audit_${id}` }),
    at: t.expose('at', { type: 'DateTime', description: 'When.' }),
    action: t.field({
      type: AuditActionRef,
      description: 'What was done.',
      resolve: ({ action }) => auditActionOf(action)!,
    }),
    actor: t.field({
      type: PrincipalRef,
      description: 'Who did it.',
      resolve: (entry, _, context) => auditActor(entry, context),
    }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'On whose data.',
      resolve: ({ tenantId }, _, { loaders }) => loaders.tenants.load(tenantId),
    }),
    jobId: t.id({
      nullable: true,
      description: 'On which job. Kept after the job is gone.',
      resolve: ({ jobId }) => (jobId === null ? null : `job_${jobId}`),
    }),
    job: t.field({
      type: JobRef,
      nullable: true,
      description: 'The job, while it exists.',
      resolve: ({ jobId }, _, { caller, loaders }) =>
        jobId !== null && caller?.scopes.has('READ_JOBS') ? loaders.jobs.load(jobId) : null,
    }),
    reason: t.exposeString('reason', { nullable: true, description: 'Reason given.' }),
    snapshot: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'What the entry needs to be understood later, e.g. the payload of a discarded job. Null without `READ_PAYLOADS`.',
      resolve: ({ payloadText }, _, { caller }) =>
        payloadText !== null && caller?.scopes.has('READ_PAYLOADS') ? parseExactly(payloadText) : null,
    }),
    streamCursor: t.string({
      nullable: true,
      description:
        'In the `auditLog` subscription: pass as `after` to go on behind this entry. Null where the entry was read otherwise.',
      resolve: (entry) => ('streamCursor' in entry ? (entry as AuditNews).streamCursor : null),
    }),
    requestId: t.exposeString('requestId', {
      nullable: true,
      description: 'Request id: the same as in logs and error extensions.',
    }),
  }),
})
