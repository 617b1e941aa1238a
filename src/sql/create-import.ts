import { statement } from './statement.ts'

type Params = [
  id: string,
  tenantId: string,
  entityTypeId: string,
  createdBy: string,
  objectStore: string,
  objectKey: string,
  sha256: string,
  sizeBytes: number,
  filename: string | null,
  /** JSON. */
  mapping: string,
  /** JSON. */
  options: string,
  uploadKey: string,
]

export const createImport = statement<Params, { id: string }>(
  'create_import',
  `-- a file becomes an import; no row: the same file is one already, by aa_import_job_upload
with arrived as (
  delete from mdm.aa_import_upload where id = $1::uuid)
insert into mdm.aa_import_job (id, tenant_id, entity_type_id, created_by, object_store, object_key, content_sha256, size_bytes, filename, mapping, options, upload_key)
values ($1, $2::uuid, $3::uuid, $4, $5, $6, $7, $8, $9, $10::jsonb, $11::jsonb, $12)
on conflict (tenant_id, upload_key) where upload_key is not null do nothing
returning id`,
)
