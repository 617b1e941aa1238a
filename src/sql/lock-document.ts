import { statement } from './statement.ts'
import type { TitleSource } from './document-row.ts'

interface LockedDocument {
  readonly id: string
  readonly tenantId: string
  readonly titleSource: TitleSource | null
  /** The job that waits for it or reads it; null: none does. */
  readonly busyJobId: string | null
}

export const lockDocument = statement<[id: string, tenantIds: readonly string[] | null], LockedDocument>(
  'lock_document',
  `-- reads a document for a change, by primary key: changes of one document come one after the other. $2 = the caller's tenants, null: all
select d.id, d.tenant_id as "tenantId", d.title_source as "titleSource",
       (select j.id from mdm.aa_job j where j.id = d.job_id and j.status in ('pending', 'running')) as "busyJobId"
  from mdm.documents d
 where d.id = $1::uuid and ($2::uuid[] is null or d.tenant_id = any ($2))
   for no key update of d`,
)
