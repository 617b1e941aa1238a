import { attachmentRowColumns, type AttachmentRow } from './attachment-row.ts'
import { statement } from './statement.ts'

type Params = [
  tenantId: string,
  entityId: string | null,
  filename: string,
  declaredType: string,
  announcedBytes: number,
  store: string,
  expiresInMs: number,
  createdBy: string,
]

export const createAttachment = statement<Params, AttachmentRow>(
  'create_attachment',
  `-- (nothing) -> pending_upload; no row: there is no such entity in the tenant
with made as (
  insert into mdm.ddm_attachment (id, tenant_id, entity_id, filename, declared_type, announced_bytes, store, incoming_key, upload_expires_at, created_by)
  select n.id, $1::uuid, $2::uuid, $3, $4, $5, $6, 'incoming/' || $1::uuid || '/' || n.id, now() + $7::float8 * interval '1 millisecond', $8
    from (select mdm.uuid_v7() as id) n
   where $2 is null or exists (select from mdm.ddm_entity e where e.id = $2 and e.tenant_id = $1)
  returning *)
select ${attachmentRowColumns} from made a`,
)
