import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { inTransaction } from '../db/transaction.ts'
import { importOptions, type ImportOptions } from '../jobs/import-options.ts'
import { encodePayload } from '../jobs/payload.ts'
import { actorOf, type Caller } from '../jobs/permissions.ts'
import { badFilename } from '../jobs/upload-name.ts'
import { beginImportUpload } from '../sql/begin-import-upload.ts'
import { createImport } from '../sql/create-import.ts'
import { enqueueWithin } from '../sql/enqueue-within.ts'
import { findEntityType } from '../sql/find-entity-type.ts'
import { findImportByUpload } from '../sql/find-import-by-upload.ts'
import { forgetImportUpload } from '../sql/forget-import-upload.ts'
import { setImportJob } from '../sql/set-import-job.ts'
import { ApiError } from './api-error.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'
import { wasRefused } from './enqueue-scan.ts'

/** The text fields of `POST /imports`. */
export interface ImportForm {
  readonly entityType: string | undefined
  readonly options: string | undefined
  readonly tenant: string | undefined
}

/** A file that was stored and is no import yet. */
export interface StoredImportFile {
  readonly id: string
  readonly key: string
  readonly filename: string | null
  readonly sizeBytes: number
  readonly sha256: string
}

export interface ReceivedImport {
  readonly importId: string
  readonly jobId: string | null
  /** False: the same file is an import already. */
  readonly created: boolean
}

/** How `POST /imports` takes a file in: first its bytes, then what the form says of them. */
export interface ImportReception {
  /** Throws ObjectTooLarge; then nothing is left behind. */
  store(file: { readonly filename: string | null; readonly body: Readable }): Promise<StoredImportFile>
  discard(file: StoredImportFile): Promise<void>
  /**
   * Makes an import of it and enqueues its job in the same transaction, or answers the import that the same file is already. A file
   * that is refused is discarded; one of which nobody knows whether it was taken is left to `cleanup_jobs`.
   */
  accept(file: StoredImportFile, form: ImportForm): Promise<ReceivedImport>
}

/** Who may not import is refused before the first byte is read. Throws ApiError, as all that it answers with does. */
export function receiveImport(context: RequestContext): ImportReception {
  const caller = authorize(context, [['ENQUEUE_JOBS']])
  const { pools, objects, maxUploadBytes } = context.deps
  const { store } = objects

  const discard = async ({ id, key }: Pick<StoredImportFile, 'id' | 'key'>): Promise<void> => {
    await store.remove(key)
    await forgetImportUpload(pools.api, id)
  }

  return {
    async store({ filename, body }) {
      const [begun] = await beginImportUpload(pools.api, store.id)
      const { id, key } = begun!
      try {
        const { sizeBytes, sha256 } = await store.put(key, body, { maxBytes: maxUploadBytes })
        return {
          id,
          key,
          filename: filename !== null && badFilename(filename) === null ? filename : null,
          sizeBytes,
          sha256,
        }
      } catch (error) {
        await discard({ id, key })
        throw error
      }
    },
    discard,
    async accept(file, form) {
      try {
        const received = await createOrFind(file, await judge(form, context, caller), context, caller)
        if (received.created) {
          context.deps.wakeup.signal('work')
          context.deps.wakeup.signal('journal')
        } else await discard(file)
        return received
      } catch (error) {
        if (error instanceof ApiError) await discard(file)
        throw error
      }
    },
  }
}

interface ImportOrder {
  readonly tenantId: string
  readonly entityTypeId: string
  readonly options: ImportOptions
}

async function judge(form: ImportForm, context: RequestContext, caller: Caller): Promise<ImportOrder> {
  const options = readOptions(form.options ?? '')
  const tenant = await chooseTenant(context, caller, form.tenant || null, ['tenant'])
  if (!tenant.ok)
    throw new ApiError(
      tenant.error.code === 'NOT_FOUND' ? 'NOT_FOUND' : 'BAD_USER_INPUT',
      `tenant: ${tenant.error.message}`,
    )
  const named = form.entityType ?? ''
  if (named === '') throw refused('entityType is required: the id or the key of an entity type.')
  const id = /^(?:[a-z-]+_)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.exec(named)?.[1] ?? null
  const { pools } = context.deps
  const [type] = named.includes('\0')
    ? []
    : await findEntityType(pools.api, id, tenant.tenantId, id === null ? named : null)
  if (type === undefined)
    throw new ApiError('NOT_FOUND', 'entityType: there is no such type in this tenant. setEntityType makes one.')
  return { tenantId: tenant.tenantId, entityTypeId: type.id, options }
}

function readOptions(text: string): ImportOptions {
  let given: unknown
  try {
    given = JSON.parse(text.trim() === '' ? '{}' : text)
  } catch {
    throw refused('options is no valid JSON.')
  }
  const encoded = encodePayload(given)
  if (!encoded.ok) throw refused(`options${encoded.problem.pointer}: ${encoded.problem.message}`)
  const read = importOptions.safeParse(given)
  if (read.success) return read.data
  const problems = read.error.issues.map(
    ({ path, message }) => `options${path.map((step) => `.${String(step)}`).join('')}: ${message}`,
  )
  throw refused(`${problems.join('; ')}.`)
}

async function createOrFind(
  file: StoredImportFile,
  { tenantId, entityTypeId, options }: ImportOrder,
  { deps, requestId, traceparent }: RequestContext,
  caller: Caller,
): Promise<ReceivedImport> {
  const { mapping, ...rest } = options
  const uploadKey = keyOf(file.sha256, entityTypeId, options)
  const actor = actorOf(caller.principal)
  const { store } = deps.objects
  try {
    return await inTransaction(deps.pools.commit, async (tx) => {
      const [made] = await createImport(
        tx,
        file.id,
        tenantId,
        entityTypeId,
        actor,
        store.id,
        file.key,
        file.sha256,
        file.sizeBytes,
        file.filename,
        JSON.stringify(mapping),
        JSON.stringify(rest),
        uploadKey,
      )
      if (made === undefined) {
        const [first] = await findImportByUpload(tx, tenantId, uploadKey)
        return { importId: first!.id, jobId: first!.jobId, created: false }
      }
      const payload = JSON.stringify({ import_job_id: made.id })
      const key = `import:${made.id}`
      const [job] = await enqueueWithin(tx, tenantId, 'bulk_import', payload, null, key, traceparent, actor, requestId)
      await setImportJob(tx, made.id, job!.jobId)
      return { importId: made.id, jobId: job!.jobId, created: true }
    })
  } catch (error) {
    if (wasRefused(error)) throw refused('The import is refused: this tenant is closed.')
    throw error
  }
}

/** Same bytes, type, mapping and options: the same import, whoever is told of its end. */
function keyOf(sha256: string, entityTypeId: string, options: ImportOptions): string {
  const what = sorted({ ...options, mapping: sorted(options.mapping) }).filter(([name]) => name !== 'notifyEmail')
  const parts = [sha256, entityTypeId, what]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

function sorted(fields: Readonly<Record<string, unknown>>): [name: string, value: unknown][] {
  return Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function refused(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', message, { reason: 'INVALID' })
}
