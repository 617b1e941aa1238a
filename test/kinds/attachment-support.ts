import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { ObjectStore } from '../../src/objects/object-store.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import type { Workers } from './support.ts'

export interface AttachmentState {
  readonly status: string
  readonly signature: string | null
  readonly sha256: string | null
  readonly objectKey: string | null
  readonly detectedType: string | null
  readonly scannerVersion: string | null
  readonly error: string | null
  readonly uploadStatus: string
  readonly jobId: string
}

/** Uploads as the API leaves them: bytes in the store, a committed row, and its job. */
export function attachmentsOf(database: TestDatabase, workers: Workers, store: ObjectStore = workers.store) {
  const state = async (id: string): Promise<AttachmentState> => {
    const [row] = await database.sql<AttachmentState>(
      `select virus_scan_status as status, virus_signature as signature, sha256, object_key as "objectKey", detected_type as "detectedType",
              scanner_version as "scannerVersion", scan_error as error, upload_status as "uploadStatus", job_id as "jobId"
         from mdm.ddm_attachment where id = $1`,
      [id],
    )
    return row!
  }
  const enqueue = async (id: string, payload: object = {}): Promise<string> => {
    const jobId = await workers.enqueue({ kind: 'virus_scan', payload: { attachment_id: id, ...payload } })
    return jobId
  }
  /** Job and row as commitUpload makes them, in one transaction; `held`: the job waits for release(). */
  const commit = async (
    bytes: Buffer | string,
    { tenant = 'default', type = 'application/octet-stream', storeId = store.id, held = false } = {},
  ): Promise<{ id: string; jobId: string; incomingKey: string }> => {
    const id = randomUUID()
    const incomingKey = `incoming/${tenant}/${id}`
    const body = Buffer.from(bytes)
    const { etag, sizeBytes } = await store.put(incomingKey, Readable.from([body]), { maxBytes: 200 * 1024 * 1024 })
    const [row] = await database.sql<{ jobId: string }>(
      `with job as (
         select j.job_id from mdm.enqueue_job('virus_scan', jsonb_build_object('attachment_id', $1::uuid, 'etag', $2::text, 'attempt_reason', 'commit'), $5,
                                              available_at => case when $8 then now() + interval '1 hour' end) j)
       insert into mdm.ddm_attachment (id, tenant_id, filename, declared_type, announced_bytes, size_bytes, upload_status, upload_expires_at, store,
                                       incoming_key, etag, virus_scan_status, job_id, scans)
       select $1, mdm.tenant_of($5), 'file.bin', $6, $3, $3, 'committed', now() + interval '10 minutes', $4, $7, $2, 'pending', job.job_id, 1 from job
       returning job_id as "jobId"`,
      [id, etag, sizeBytes, storeId, tenant, type, incomingKey, held],
    )
    return { id, jobId: row!.jobId, incomingKey }
  }
  return {
    state,
    enqueue,
    commit,
    async release(jobId: string): Promise<void> {
      await database.sql('update mdm.aa_job set available_at = now() where id = $1', [jobId])
      await database.sql(`select pg_notify('mdm_wakeup', '')`)
    },
    async reached(id: string, status: string, withinMs?: number): Promise<AttachmentState> {
      return until(
        async () => {
          const now = await state(id)
          return now.status === status ? now : null
        },
        `the attachment ${id} is ${status}`,
        withinMs,
      )
    },
    async bytes(key: string): Promise<Buffer> {
      return buffer(await store.openRead(key))
    },
    async audits(id: string): Promise<number> {
      const rows = await database.sql(
        `select 1 from mdm.aa_audit_log where action = 'attachment_scanned' and payload ->> 'attachment_id' = $1`,
        [id],
      )
      return rows.length
    },
  }
}
