import { createHash } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { NeverRetry, RetryLater, Snooze } from '../../../jobs/errors.ts'
import { ObjectMissing, type ObjectStore } from '../../../objects/object-store.ts'
import { readEmailAttachments, type EmailAttachmentRow } from '../../../sql/read-email-attachments.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { JobFacts } from '../../handler.ts'

/** A file that goes along with a mail. */
export interface EmailFile {
  readonly filename: string
  readonly contentType: string
  readonly bytes: Buffer
}

const mib = 1024 * 1024
const mostBytes = 10 * mib
const minute = 60_000
/** As long as a scan may reasonably take, the mail waits without losing attempts; after that a person should hear of it. */
const patienceMs = 5 * minute

/**
 * The files of a mail, in order: its own tenant's, and only those that were scanned clean. One whose scan is under way is waited
 * for; what can never go along throws NeverRetry with the reason.
 */
export async function loadAttachments(
  db: Queryable,
  store: ObjectStore,
  ids: readonly string[],
  job: Pick<JobFacts, 'tenantId' | 'createdAt'>,
): Promise<EmailFile[]> {
  const rows = new Map((await readEmailAttachments(db, ids, job.tenantId)).map((row) => [row.id, row]))
  const files = ids.map((id, index) => {
    const row = rows.get(id.toLowerCase())
    if (row === undefined) throw new NeverRetry(`attachment_ids/${index}: there is no such attachment in this tenant.`)
    return sendable(row, store, Date.now() - job.createdAt.getTime())
  })
  const total = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  if (total > mostBytes)
    throw new NeverRetry(`The attachments have ${total} bytes together; at most ${mostBytes} are sent with a mail.`)
  return Promise.all(files.map((file) => load(store, file)))
}

type Sendable = EmailAttachmentRow & { readonly sizeBytes: number; readonly objectKey: string }

function sendable(row: EmailAttachmentRow, store: ObjectStore, ageMs: number): Sendable {
  const { filename, status, sizeBytes, objectKey } = row
  switch (status) {
    case 'clean':
      // In the folder of another instance: that one sends it.
      if (row.store !== store.id)
        throw wait(ageMs, `The attachment ${filename} lies in the object store of another instance.`)
      return { ...row, sizeBytes: sizeBytes!, objectKey: objectKey! }
    case 'pending':
    case 'scanning':
      throw wait(ageMs, `The attachment ${filename} has not been scanned yet.`)
    case 'none':
      throw new NeverRetry(`The attachment ${filename} was never uploaded: commitUpload comes before the mail.`)
    default:
      throw new NeverRetry(`The attachment ${filename} is locked (${status}): only what was scanned clean is sent.`)
  }
}

function wait(ageMs: number, message: string): Error {
  return ageMs < patienceMs ? new Snooze(Math.min(Math.max(ageMs / 4, 500), 15_000)) : new RetryLater(minute, message)
}

async function load(store: ObjectStore, { objectKey, filename, detectedType, sha256 }: Sendable): Promise<EmailFile> {
  const bytes = await read(store, objectKey, filename)
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new NeverRetry(`The attachment ${filename} is not what was scanned: its bytes have changed. Upload it again.`)
  return { filename: safeName(filename), contentType: detectedType ?? 'application/octet-stream', bytes }
}

async function read(store: ObjectStore, key: string, filename: string): Promise<Buffer> {
  try {
    return await buffer(await store.openRead(key))
  } catch (error) {
    if (error instanceof ObjectMissing)
      throw new NeverRetry(`The bytes of the attachment ${filename} are gone. Upload it again.`)
    throw new Error(`The attachment ${filename} could not be read from the object store.`, { cause: error })
  }
}

/** Checked when it was uploaded; what came into the table by another way must not end a header line or name a path either. */
function safeName(filename: string): string {
  return filename.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069/\\]/gu, '_').slice(0, 200)
}
