import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { inTransaction } from '../db/transaction.ts'
import { databaseFault } from '../jobs/database-fault.ts'
import { documentHeadBytes, documentType } from '../jobs/document-type.ts'
import { actorOf } from '../jobs/permissions.ts'
import { processDocument } from '../sql/process-document.ts'
import { storeDocument } from '../sql/store-document.ts'
import { ApiError } from './api-error.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'

/** The text fields of `POST /documents`. */
export interface DocumentForm {
  readonly deriveTitle: string | undefined
  readonly tenant: string | undefined
}

interface IncomingDocument {
  readonly filename: string | null
  readonly contentType: string
  readonly body: Readable
}

/** A file that lies in the archive, and has no document yet. */
export interface ArchivedFile {
  readonly archiveKey: string
  readonly sha256: string
  readonly sizeBytes: number
  /** Found in the bytes; else as the caller said. */
  readonly contentType: string
  readonly filename: string
}

interface ReceivedDocument {
  readonly documentId: string
  readonly jobId: string
}

/** How `POST /documents` takes a file in: first its bytes, then what the form says of them. */
export interface DocumentReception {
  /** Throws ObjectTooLarge; then nothing is left behind. */
  store(file: IncomingDocument): Promise<ArchivedFile>
  discard(file: ArchivedFile): Promise<void>
  /**
   * Makes a document of it and enqueues its job in the same transaction. A file that is refused is taken out of the archive again;
   * one of which nobody knows whether its document was committed stays.
   */
  accept(file: ArchivedFile, form: DocumentForm): Promise<ReceivedDocument>
}

const longestFilename = 255
const mediaType = /^[\w.+-]{1,80}\/[\w.+-]{1,80}$/

/** Who may not store documents is refused before the first byte is read. Throws ApiError, as all that it answers with does. */
export function receiveDocument(context: RequestContext): DocumentReception {
  const caller = authorize(context, [['ENQUEUE_JOBS']])
  const { archive, maxUploadBytes, pools, wakeup } = context.deps
  const actor = actorOf(caller.principal)

  const place = async (form: DocumentForm): Promise<{ tenantId: string; deriveTitle: boolean }> => {
    const deriveTitle = form.deriveTitle || 'true'
    if (deriveTitle !== 'true' && deriveTitle !== 'false') throw refusal('The field deriveTitle must be true or false.')
    const tenant = await chooseTenant(context, caller, form.tenant || null, ['tenant'])
    if (!tenant.ok) throw refusal(`The field tenant: ${tenant.error.message}`)
    return { tenantId: tenant.tenantId, deriveTitle: deriveTitle === 'true' }
  }

  const keep = async (file: ArchivedFile, form: DocumentForm): Promise<ReceivedDocument> => {
    const { tenantId, deriveTitle } = await place(form)
    const { archiveKey, sha256, sizeBytes, contentType, filename } = file
    try {
      return await inTransaction(pools.commit, async (tx) => {
        const [row] = await storeDocument(tx, tenantId, archiveKey, sha256, sizeBytes, contentType, filename, actor)
        const { requestId, traceparent } = context
        const [asked] = await processDocument(tx, row!.id, deriveTitle, actor, requestId, traceparent)
        return { documentId: `document_${row!.id}`, jobId: `job_${asked!.jobId}` }
      })
    } catch (error) {
      if (databaseFault(error) === 'data') throw refusal('The document is refused: its tenant is closed.')
      throw error
    }
  }

  return {
    async store({ filename, contentType, body }) {
      const now = new Date()
      const month = String(now.getUTCMonth() + 1).padStart(2, '0')
      const archiveKey = `${now.getUTCFullYear()}/${month}/${randomUUID()}`
      const head = headOf(body)
      const stored = await archive.store(archiveKey, Readable.from(head.body), { maxBytes: maxUploadBytes })
      const { sha256, sizeBytes } = stored
      const declared = mediaType.test(contentType) ? contentType.toLowerCase() : 'application/octet-stream'
      const found = documentType(head.bytes()) ?? declared
      return { archiveKey, sha256, sizeBytes, contentType: found, filename: filenameOf(filename) }
    },
    discard: ({ archiveKey }) => archive.withdraw(archiveKey),
    async accept(file, form) {
      const received = await keep(file, form).catch(async (error: unknown) => {
        if (error instanceof ApiError) await archive.withdraw(file.archiveKey)
        throw error
      })
      wakeup.signal('work')
      wakeup.signal('journal')
      return received
    },
  }
}

/** Keeps the beginning of what passes. */
function headOf(source: Readable): { readonly body: AsyncIterable<Buffer>; bytes(): Buffer } {
  const parts: Buffer[] = []
  let length = 0
  async function* pass(): AsyncIterable<Buffer> {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (length < documentHeadBytes) parts.push(chunk)
      length += chunk.length
      yield chunk
    }
  }
  return { body: pass(), bytes: () => Buffer.concat(parts).subarray(0, documentHeadBytes) }
}

function filenameOf(given: string | null): string {
  const clean = (given ?? '')
    .replaceAll(/\p{Cc}/gu, '')
    .toWellFormed()
    .trim()
  return [...(clean || 'document')].slice(0, longestFilename).join('')
}

function refusal(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', message, { reason: 'INVALID' })
}
