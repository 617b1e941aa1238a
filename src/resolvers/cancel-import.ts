import { inTransaction } from '../db/transaction.ts'
import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import type { AdminMoveParams } from '../sql/admin-move-parts.ts'
import { cancelImport as cancel } from '../sql/cancel-import.ts'
import { cancelJob } from '../sql/cancel-job.ts'
import { readImports } from '../sql/read-imports.ts'
import { requestCancel } from '../sql/request-cancel.ts'
import { authorize, type RequestContext } from './context.ts'
import { importResult, noImport, type ImportResult } from './import-result.ts'
import { parseUuidOf } from './node-id.ts'
import { badReason } from './reason.ts'

interface CancelImportInput {
  readonly id: string
  readonly reason?: string | null | undefined
}

/** Ends an import and its job. What is committed stays; one that was cancelled before is answered as it is. */
export async function cancelImport(
  { id: named, reason: given }: CancelImportInput,
  context: RequestContext,
): Promise<ImportResult> {
  const caller = authorize(context, [['CONTROL_JOBS']])
  const reason = given || null
  const errors = badReason(reason)
  if (errors.length > 0) return { import: null, errors }
  const id = parseUuidOf('import', named)
  if (id === null) return noImport(named)
  const { pools, wakeup } = context.deps
  const tenants = tenantPredicate(caller)
  const open = await inTransaction(pools.commit, async (tx) => {
    const [row] = await readImports(tx, [id], tenants)
    if (row === undefined || ['done', 'failed', 'cancelled'].includes(row.status)) return false
    // The job first, as its worker holds them. A job that waits takes its import along.
    const move: AdminMoveParams = [row.jobId ?? '', tenants, null, actorOf(caller.principal), reason, context.requestId]
    if (row.jobId !== null && (await cancelJob(tx, ...move)).length === 0) await requestCancel(tx, ...move)
    await cancel(tx, id, tenants, reason)
    return true
  })
  if (open) {
    wakeup.signal('control')
    wakeup.signal('journal')
  }
  const result = await importResult(id, named, context, caller, null)
  if (result.import === null || result.import.status === 'cancelled') return result
  return importResult(id, named, context, caller, (status) => `The import has ended already: ${status}.`)
}
