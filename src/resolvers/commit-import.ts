import { inTransaction } from '../db/transaction.ts'
import { actorOf, tenantPredicate } from '../jobs/permissions.ts'
import { enqueueWithin } from '../sql/enqueue-within.ts'
import { resumeImport } from '../sql/resume-import.ts'
import { setImportJob } from '../sql/set-import-job.ts'
import { authorize, type RequestContext } from './context.ts'
import { wasRefused } from './enqueue-scan.ts'
import { importResult, noImport, type ImportResult } from './import-result.ts'
import { parseUuidOf } from './node-id.ts'
import { invalid } from './user-error.ts'

/** Goes on with an import that was a dry run: its good rows become entities. */
export async function commitImport(
  { id: named }: { readonly id: string },
  context: RequestContext,
): Promise<ImportResult> {
  const caller = authorize(context, [['CONTROL_JOBS']])
  const id = parseUuidOf('import', named)
  if (id === null) return noImport(named)
  const { pools, wakeup } = context.deps
  try {
    const resumed = await inTransaction(pools.commit, async (tx) => {
      const [row] = await resumeImport(tx, id, tenantPredicate(caller))
      if (row === undefined) return false
      const payload = JSON.stringify({ import_job_id: id, phase: 'commit' })
      const { traceparent, requestId } = context
      const actor = actorOf(caller.principal)
      const [job] = await enqueueWithin(
        tx,
        row.tenantId,
        'bulk_import',
        payload,
        null,
        null,
        traceparent,
        actor,
        requestId,
      )
      await setImportJob(tx, id, job!.jobId)
      return true
    })
    if (resumed) {
      wakeup.signal('work')
      wakeup.signal('journal')
    }
    return await importResult(
      id,
      named,
      context,
      caller,
      resumed
        ? null
        : (status) => `The import is ${status}; only one that is VALIDATED, as a dry run ends, can be committed.`,
    )
  } catch (error) {
    if (wasRefused(error))
      return { import: null, errors: [invalid(['id'], 'The import cannot go on: its tenant is closed.')] }
    throw error
  }
}
