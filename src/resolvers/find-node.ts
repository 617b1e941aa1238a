import type { JobEvent } from '../jobs/job-event.ts'
import type { Scope } from '../jobs/permissions.ts'
import type { ApiKeyRow } from '../sql/api-key-row.ts'
import type { AttachmentRow } from '../sql/attachment-row.ts'
import type { AuditRow } from '../sql/audit-row.ts'
import type { BulkOperationRow } from '../sql/bulk-operation-row.ts'
import type { DocumentRow } from '../sql/document-row.ts'
import type { DocumentWorkflowRow } from '../sql/document-workflow-row.ts'
import type { EmailLogRow } from '../sql/email-log-row.ts'
import type { EmailTemplateRow } from '../sql/email-template-row.ts'
import type { EntityAttributeRow, EntityRow, EntityTypeRow } from '../sql/entity-type-row.ts'
import type { ImportRow } from '../sql/import-row.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { PauseRow } from '../sql/pause-row.ts'
import type { InstanceRow } from '../sql/read-instances.ts'
import type { RegisteredKind } from '../sql/read-kinds.ts'
import type { TenantRow } from '../sql/read-tenants.ts'
import type { WorkerRow } from '../sql/read-workers.ts'
import type { SuppressionRow } from '../sql/suppression-row.ts'
import type { TaxonomyRuleRow } from '../sql/taxonomy-rule-row.ts'
import type { TaxonomyTermRow } from '../sql/taxonomy-term-row.ts'
import type { WebhookDeliveryRow } from '../sql/webhook-delivery-row.ts'
import type { WebhookEndpointRow } from '../sql/webhook-endpoint-row.ts'
import { authorize, type RequestContext } from './context.ts'
import { getJob } from './get-job.ts'
import { getKind } from './get-kind.ts'
import { getTenant } from './get-tenant.ts'
import { findOwnApiKey } from './list-api-keys.ts'
import { findAuditEntry } from './list-audit.ts'
import { findBulkOperation } from './list-bulk-operations.ts'
import { findDocument } from './list-documents.ts'
import { findDocumentWorkflow } from './list-document-workflows.ts'
import { findEmailLog } from './list-email-logs.ts'
import { findEmailTemplate } from './list-email-templates.ts'
import { findJobEvent } from './list-job-events.ts'
import { findEntity } from './list-entities.ts'
import { findEntityAttribute, findEntityType } from './find-entity-type.ts'
import { findImport } from './list-imports.ts'
import { listPauses } from './list-pauses.ts'
import { findSuppression } from './list-suppressions.ts'
import { findTaxonomyRule, findTaxonomyTerm } from './list-taxonomy-terms.ts'
import { findWebhookDelivery } from './list-webhook-deliveries.ts'
import { findWebhookEndpoint } from './list-webhook-endpoints.ts'
import { parseJobId, parseNodeId } from './node-id.ts'
import { findAttachment } from './own-attachment.ts'

/** Something with a node id, and its GraphQL type. */
export type FoundNode =
  | ({ readonly nodeType: 'Job' } & JobRow)
  | ({ readonly nodeType: 'JobEvent' } & JobEvent)
  | ({ readonly nodeType: 'Tenant' } & TenantRow)
  | ({ readonly nodeType: 'JobKind'; readonly id: string } & RegisteredKind)
  | ({ readonly nodeType: 'Worker' } & WorkerRow)
  | ({ readonly nodeType: 'Instance' } & InstanceRow)
  | ({ readonly nodeType: 'QueuePause' } & PauseRow)
  | ({ readonly nodeType: 'AuditEntry' } & AuditRow)
  | ({ readonly nodeType: 'BulkOperation' } & BulkOperationRow)
  | ({ readonly nodeType: 'ApiKey' } & ApiKeyRow)
  | ({ readonly nodeType: 'EmailLog' } & EmailLogRow)
  | ({ readonly nodeType: 'Suppression' } & SuppressionRow)
  | ({ readonly nodeType: 'EmailTemplate' } & EmailTemplateRow)
  | ({ readonly nodeType: 'Document' } & DocumentRow)
  | ({ readonly nodeType: 'TaxonomyTerm' } & TaxonomyTermRow)
  | ({ readonly nodeType: 'TaxonomyRule' } & TaxonomyRuleRow)
  | ({ readonly nodeType: 'DocumentWorkflow' } & DocumentWorkflowRow)
  | ({ readonly nodeType: 'WebhookEndpoint' } & WebhookEndpointRow)
  | ({ readonly nodeType: 'WebhookDelivery' } & WebhookDeliveryRow)
  | ({ readonly nodeType: 'Attachment' } & AttachmentRow)
  | ({ readonly nodeType: 'Import' } & ImportRow)
  | ({ readonly nodeType: 'EntityType' } & EntityTypeRow)
  | ({ readonly nodeType: 'EntityAttribute' } & EntityAttributeRow)
  | ({ readonly nodeType: 'Entity' } & EntityRow)

const mayRead: readonly Scope[][] = [['READ_JOBS']]

/** Any object by its node id, or a job by its bare uuid; needs the scope of the type found. Null: there is none among the caller's tenants. */
export async function findNode(id: string, context: RequestContext): Promise<FoundNode | null> {
  authorize(context, [])
  const key = parseNodeId(id)
  switch (key?.type) {
    case 'event':
      return named('JobEvent', await findJobEvent(key.jobId, key.revision, context))
    case 'tenant':
      return named('Tenant', await getTenant(key.key, context))
    case 'kind': {
      const kind = await getKind(key.name, context)
      return kind === null ? null : { nodeType: 'JobKind', id: `kind_${kind.name}`, ...kind }
    }
    case 'worker':
      authorize(context, mayRead)
      return named('Worker', await context.loaders.workers.load(key.id))
    case 'instance':
      authorize(context, mayRead)
      return named('Instance', await context.loaders.instances.load(key.id))
    case 'pause':
      return named('QueuePause', (await listPauses(context)).find((pause) => pause.id === key.id) ?? null)
    case 'email':
      return named('EmailLog', await findEmailLog(key.id, context))
    case 'suppression':
      return named('Suppression', await findSuppression(key.id, context))
    case 'template':
      return named('EmailTemplate', await findEmailTemplate(key.id, context))
    case 'document':
      return named('Document', await findDocument(key.id, context))
    case 'term':
      return named('TaxonomyTerm', await findTaxonomyTerm(key.id, context))
    case 'rule':
      return named('TaxonomyRule', await findTaxonomyRule(key.id, context))
    case 'workflow':
      return named('DocumentWorkflow', await findDocumentWorkflow(key.id, context))
    case 'endpoint':
      return named('WebhookEndpoint', await findWebhookEndpoint(key.id, context))
    case 'delivery':
      return named('WebhookDelivery', await findWebhookDelivery(key.id, context))
    case 'entitytype':
      return named('EntityType', await findEntityType(key.id, context))
    case 'attribute':
      return named('EntityAttribute', await findEntityAttribute(key.id, context))
    case 'entity':
      return named('Entity', await findEntity(key.id, context))
    case 'bulk':
      return named('BulkOperation', await findBulkOperation(key.id, context))
    case 'key':
      return named('ApiKey', await findOwnApiKey(key.id, context))
    case 'import':
      return named('Import', await findImport(key.id, context))
    case 'attachment':
      return named('Attachment', await findAttachment(key.id, context))
    case 'audit':
      return named('AuditEntry', await findAuditEntry(key.id, context))
    default:
      return parseJobId(id) === null ? null : named('Job', await getJob(id, context))
  }
}

function named<Type extends FoundNode['nodeType'], Row extends object>(
  nodeType: Type,
  row: Row | null,
): ({ nodeType: Type } & Row) | null {
  return row === null ? null : { nodeType, ...row }
}
