import type { PoolClient } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { databaseFault } from '../jobs/database-fault.ts'
import { actorOf, tenantPredicate, type Caller } from '../jobs/permissions.ts'
import type { DocumentRow } from '../sql/document-row.ts'
import { lockDocument } from '../sql/lock-document.ts'
import { processDocument } from '../sql/process-document.ts'
import { recordDocumentChange } from '../sql/record-document-change.ts'
import type { RequestContext } from './context.ts'
import { parseUuidOf } from './node-id.ts'
import { invalid, type UserError } from './user-error.ts'

/** What a mutation on a document answers. */
export interface DocumentResult {
  readonly document: DocumentRow | null
  readonly errors: readonly UserError[]
}

export type LockedDocument = Awaited<ReturnType<typeof lockDocument>>[number]

/** What a change finds wrong; anything but an empty list leaves the document as it is. */
type Change = (tx: PoolClient, document: LockedDocument) => Promise<readonly UserError[]>

/** Changes a document of the caller's under its lock, in one transaction, and answers it as it is then. */
export async function changeDocument(
  id: string,
  context: RequestContext,
  caller: Caller,
  change: Change,
): Promise<DocumentResult> {
  const documentId = parseUuidOf('document', id)
  if (documentId === null) return refused([noSuchDocument(id)])
  const { pools, wakeup } = context.deps
  try {
    await inTransaction(pools.commit, async (tx) => {
      const [document] = await lockDocument(tx, documentId, tenantPredicate(caller))
      const errors = document === undefined ? [noSuchDocument(id)] : await change(tx, document)
      if (errors.length > 0) throw new Refused(errors)
    })
  } catch (error) {
    if (error instanceof Refused) return refused(error.errors)
    if (databaseFault(error) !== 'data') throw error
    return refused([invalid(['id'], 'The document cannot be read again: its tenant is closed.')])
  }
  wakeup.signal('work')
  wakeup.signal('journal')
  return { document: await context.loaders.documents.load(documentId), errors: [] }
}

/** Enqueues the job that reads a document again; refused while another one waits for it or reads it. */
export async function readAgain(
  tx: PoolClient,
  { id, busyJobId }: LockedDocument,
  deriveTitle: boolean,
  context: RequestContext,
  caller: Caller,
): Promise<{ readonly jobId: string | null; readonly errors: readonly UserError[] }> {
  const job = busyJobId === null ? null : await context.loaders.jobs.load(busyJobId)
  if (job !== null) {
    const message = `The document is about to be read by another job, which is ${job.status.toUpperCase()}. Wait for it or cancel it.`
    return { jobId: null, errors: [{ type: 'ConflictError', code: 'CONFLICT', message, path: ['id'], job }] }
  }
  const [asked] = await processDocument(
    tx,
    id,
    deriveTitle,
    actorOf(caller.principal),
    context.requestId,
    context.traceparent,
  )
  return { jobId: asked!.jobId, errors: [] }
}

/** Writes into the audit log what a person did. */
export async function journalChange(
  tx: PoolClient,
  { id, tenantId }: LockedDocument,
  context: RequestContext,
  caller: Caller,
  { jobId = null, reason = null, ...what }: { jobId?: string | null; reason?: string | null; readonly change: string },
): Promise<void> {
  const payload = JSON.stringify({ document_id: id, ...what })
  await recordDocumentChange(tx, tenantId, jobId, actorOf(caller.principal), reason, context.requestId, payload)
}

class Refused extends Error {
  readonly errors: readonly UserError[]
  constructor(errors: readonly UserError[]) {
    super('The change was refused.')
    this.errors = errors
  }
}

function refused(errors: readonly UserError[]): DocumentResult {
  return { document: null, errors }
}

function noSuchDocument(id: string): UserError {
  const message = 'There is no such document among your tenants.'
  return { type: 'NotFoundError', code: 'NOT_FOUND', message, path: ['id'], id }
}
