import type { Pool } from 'pg'
import type { BulkImportPayload } from '../../jobs/bulk-import-payload.ts'
import { JobAborted, NeverRetry, Snooze } from '../../jobs/errors.ts'
import { FileRefused } from '../../jobs/import-errors.ts'
import type { ObjectStore } from '../../objects/object-store.ts'
import { beginImport, type BegunImport } from '../../sql/begin-import.ts'
import { endImport } from '../../sql/end-import.ts'
import type { Handler, HandlerContext, HandlerResult } from '../handler.ts'
import { commitRows } from './import/commit-rows.ts'
import { createImportRun, ImportMovedOn, type ImportRun } from './import/import-run.ts'
import { stageFile } from './import/stage-file.ts'
import { validateRows } from './import/validate-rows.ts'
import { writeResult } from './import/write-result.ts'
import { statementsIn } from './statements-in.ts'

export interface BulkImportDeps {
  readonly db: Pool
  readonly store: ObjectStore
  /** A run's time limit. */
  readonly timeoutMs: number
}

/** After so much work the slot goes to others for a moment; well before the time limit in any case. */
const sliceOf = (timeoutMs: number): number => Math.min(30_000, timeoutMs / 4)
const pace = { stageRows: 5_000, validateRows: 5_000, commitRows: 1_000 }
const storeAwayMs = 2_000
const storeAwayForMs = 60 * 60 * 1_000

/**
 * Takes an import on from wherever it is: reads the file in, checks the rows, makes entities of them. What is done is committed batch by
 * batch with the counts, so that whoever goes on after a death finds the truth. A bad file ends the import, not the job.
 */
export function createBulkImport({ db, store, timeoutMs }: BulkImportDeps): Handler<BulkImportPayload> {
  const sliceMs = sliceOf(timeoutMs)
  const begin = async (context: HandlerContext<BulkImportPayload>, endsAt: number): Promise<ImportRun> => {
    const { payload, job } = context
    const [begun] = await context.transaction((tx) =>
      beginImport(statementsIn(tx), payload.import_job_id, job.tenantId, job.id, payload.phase === 'commit'),
    )
    if (begun === undefined) throw new NeverRetry(`There is no import ${payload.import_job_id} of this tenant.`)
    const commitRowsAtOnce = payload.batch_size ?? pace.commitRows
    return createImportRun(context, begun, { endsAt, pace: { ...pace, commitRows: commitRowsAtOnce } })
  }

  /** One step of an import; null: there is a next one. */
  const step = async (run: ImportRun): Promise<HandlerResult | null> => {
    const { begun } = run
    switch (begun.status) {
      case 'uploaded':
      case 'staging':
        await stageFile(run, store)
        return null
      case 'validating': {
        const verdict = await validateRows(run)
        if (verdict === 'commit') return null
        if (verdict === 'dry run') return end(run, 'validated', null, await outcome(run, false))
        const { bad, most } = verdict
        const message = `${bad.toLocaleString('en')} rows are bad, and at most ${most.toLocaleString('en')} may be. Nothing was committed. Correct the file and upload it again.`
        return end(run, 'failed', { code: 'too_many_errors', message }, await outcome(run, true))
      }
      case 'committing': {
        const broken = await commitRows(run)
        if (broken === null) return end(run, 'done', null, await outcome(run, false))
        const message = `${broken.bad.toLocaleString('en')} rows are bad, some only since others changed the data meanwhile. What was committed by then stays.`
        return end(run, 'failed', { code: 'too_many_errors', message }, await outcome(run, true))
      }
      case 'cancelled':
        // Seen before the signal came.
        if (begun.stopRequested) throw new JobAborted('stop', 'The import was cancelled.')
        return { result: summary(begun, begun.status) }
      default:
        return { result: summary(begun, begun.status) }
    }
  }

  const outcome = (run: ImportRun, failed: boolean): Promise<string> =>
    writeResult(run, { db, store, header: run.begun.header ?? [], failed })

  return async (context) => {
    const endsAt = performance.now() + sliceMs
    for (;;) {
      const run = await begin(context, endsAt)
      if (run.begun.objectStore !== store.id && !hasEnded(run.begun)) throw elsewhere(run)
      try {
        const result = await step(run)
        if (result !== null) return result
      } catch (error) {
        if (error instanceof FileRefused) return end(run, 'failed', { code: error.code, message: error.message }, null)
        if (!(error instanceof ImportMovedOn)) throw error
      }
    }
  }
}

function hasEnded({ status }: BegunImport): boolean {
  return ['validated', 'done', 'failed', 'cancelled'].includes(status)
}

/** Another instance has the file. Here it can only be waited for that instance to take the job. */
function elsewhere({ begun, context }: ImportRun): Error {
  const why = `The file lies in ${begun.objectStore}, which this instance does not have. Let instances share a data directory or an S3 bucket.`
  context.log.warn(why)
  const isOld = Date.now() - context.job.createdAt.getTime() > storeAwayForMs
  return isOld ? new NeverRetry(why) : new Snooze(storeAwayMs)
}

/** The end, in the transaction in which the job becomes done. */
async function end(
  run: ImportRun,
  status: 'validated' | 'done' | 'failed',
  error: { readonly code: string; readonly message: string } | null,
  resultKey: string | null,
): Promise<HandlerResult> {
  const { begun, context } = run
  await run.report('reporting', 1, begun.totalRows ?? 0)
  return {
    result: { ...summary(begun, status), ...(error !== null && { error: error.message }) },
    commit: async (tx) => {
      await endImport(
        statementsIn(tx),
        begun.id,
        status,
        error === null ? null : JSON.stringify(error),
        resultKey,
        context.job.id,
      )
    },
  }
}

function summary({ id, totalRows }: BegunImport, status: string): Record<string, unknown> {
  return { importId: id, status, totalRows }
}
