import type { FileEncoding, ImportFormat, ImportOptions } from '../jobs/import-options.ts'
import type { ImportStatus } from './import-row.ts'
import { statement } from './statement.ts'

/** An import as its job finds it. */
export interface BegunImport {
  readonly id: string
  readonly entityTypeId: string
  readonly status: ImportStatus
  readonly format: ImportFormat | null
  readonly encoding: FileEncoding | null
  readonly filename: string | null
  readonly objectStore: string
  /** Its job was asked to end. */
  readonly stopRequested: boolean
  readonly objectKey: string
  readonly sha256: string
  readonly sizeBytes: number
  readonly options: ImportOptions
  readonly header: readonly string[] | null
  readonly totalRows: number | null
  readonly stagedRows: number
  readonly validatedRows: number
  readonly validRows: number
  readonly invalidRows: number
  readonly committedRows: number
}

export const beginImport = statement<
  [importId: string, tenantId: string, jobId: string, commits: boolean],
  BegunImport
>(
  'begin_import',
  `-- the import of this tenant goes on under this job; validated -> committing where that is what the job is for; no row: the tenant has no such import
update mdm.aa_import_job
   set status = case when status = 'validated' and $4::boolean then 'committing' else status end,
       job_id = case when status in ('uploaded', 'staging', 'validating', 'committing') or status = 'validated' and $4 then $3::uuid else job_id end
 where id = $1::uuid and tenant_id = $2::uuid
returning id, entity_type_id as "entityTypeId", status, format, encoding, filename, object_store as "objectStore", object_key as "objectKey",
          content_sha256 as sha256, size_bytes::float8 as "sizeBytes", options || jsonb_build_object('mapping', mapping) as options, header,
          total_rows as "totalRows", staged_rows as "stagedRows",
          validated_rows as "validatedRows", valid_rows as "validRows", invalid_rows as "invalidRows", committed_rows as "committedRows",
          (select j.stop_cause is not null from mdm.aa_job j where j.id = $3) as "stopRequested"`,
)
