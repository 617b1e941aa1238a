import type { JobEvent } from '../jobs/job-event.ts'
import type { Scope } from '../jobs/permissions.ts'
import type { ApiKeyRow } from '../sql/api-key-row.ts'
import type { AuditRow } from '../sql/audit-row.ts'
import type { BulkOperationRow } from '../sql/bulk-operation-row.ts'
import type { EmailLogRow } from '../sql/email-log-row.ts'
import type { EmailTemplateRow } from '../sql/email-template-row.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { PauseRow } from '../sql/pause-row.ts'
import type { InstanceRow } from '../sql/read-instances.ts'
import type { RegisteredKind } from '../sql/read-kinds.ts'
import type { TenantRow } from '../sql/read-tenants.ts'
import type { WorkerRow } from '../sql/read-workers.ts'
import type { SuppressionRow } from '../sql/suppression-row.ts'
import { authorize, type RequestContext } from './context.ts'
import { getJob } from './get-job.ts'
import { getKind } from './get-kind.ts'
import { getTenant } from './get-tenant.ts'
import { findOwnApiKey } from './list-api-keys.ts'
import { findAuditEntry } from './list-audit.ts'
import { findBulkOperation } from './list-bulk-operations.ts'
import { findEmailLog } from './list-email-logs.ts'
import { findEmailTemplate } from './list-email-templates.ts'
import { findJobEvent } from './list-job-events.ts'
import { listPauses } from './list-pauses.ts'
import { findSuppression } from './list-suppressions.ts'
import { parseJobId, parseNodeId } from './node-id.ts'

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
    case 'bulk':
      return named('BulkOperation', await findBulkOperation(key.id, context))
    case 'key':
      return named('ApiKey', await findOwnApiKey(key.id, context))
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
