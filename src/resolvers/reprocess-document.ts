import { changeDocument, journalChange, readAgain, type DocumentResult } from './change-document.ts'
import { authorize, type RequestContext } from './context.ts'
import { badReason } from './reason.ts'

interface ReprocessDocumentInput {
  readonly id: string
  readonly reason?: string | null | undefined
}

/** Reads a document again: everything derived is derived anew, what a person gave stays, workflows do not run twice. */
export async function reprocessDocument(
  { id, reason }: ReprocessDocumentInput,
  context: RequestContext,
): Promise<DocumentResult> {
  const caller = authorize(context, [['CONTROL_JOBS']])
  const errors = badReason(reason)
  if (errors.length > 0) return { document: null, errors }
  return changeDocument(id, context, caller, async (tx, document) => {
    const asked = await readAgain(tx, document, true, context, caller)
    if (asked.errors.length > 0) return asked.errors
    await journalChange(tx, document, context, caller, {
      change: 'reprocess',
      jobId: asked.jobId,
      reason: reason || null,
    })
    return []
  })
}
