import { databaseFault } from '../../../jobs/database-fault.ts'
import { cutBytes } from '../../../jobs/failure.ts'
import { mostBadRows } from '../../../jobs/import-options.ts'
import { commitImportRows } from '../../../sql/commit-import-rows.ts'
import { publishImportEvents } from '../../../sql/publish-import-events.ts'
import { refuseImportRow } from '../../../sql/refuse-import-row.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { ImportRun } from './import-run.ts'
import { createPace } from './pace.ts'

const conflictTries = 5
const detailBytes = 300

/**
 * Makes entities of the good rows, a batch at a time. A batch that a constraint of the database refuses is halved until the one row
 * stands alone, which then is bad. Answers null, or how many bad rows ended it (onError abort).
 */
export async function commitRows(run: ImportRun): Promise<{ readonly bad: number; readonly most: number } | null> {
  const { begun } = run
  const pace = createPace({ start: 100, max: run.pace.commitRows })
  const most = mostBadRows(begun.options)
  let { committedRows } = begun
  let size = pace.size()
  for (;;) {
    const started = performance.now()
    const batch = await commitBatch(run, size)
    if (batch === 'refused') {
      size = Math.max(1, Math.floor(size / 2))
      continue
    }
    pace.took(performance.now() - started)
    size = Math.min(pace.size(), size * 2)
    if (batch.picked === 0) return null
    if (most !== null && batch.invalidRows > most) return { bad: batch.invalidRows, most }
    committedRows += batch.committed
    await run.report('committing', committedRows / Math.max(begun.totalRows ?? 0, 1), committedRows)
    run.rest()
  }
}

interface Batch {
  readonly picked: number
  readonly committed: number
  readonly invalidRows: number
}

/** `refused`: some row of it is none that the database takes. */
async function commitBatch(run: ImportRun, size: number): Promise<Batch | 'refused'> {
  const { begun } = run
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run.batch('committing', async (db) => {
        const [batch] = await commitImportRows(db, begun.id, size)
        await publish(run, db, batch!)
        return batch!
      })
    } catch (error) {
      if (databaseFault(error) === 'conflict' && attempt < conflictTries) continue
      if (!isRefusal(error)) throw error
      if (size > 1) return 'refused'
      const detail = cutBytes((error as Error).message, detailBytes)
      const [refused] = await run.batch('committing', (db) => refuseImportRow(db, begun.id, detail))
      return { picked: 1, committed: 0, invalidRows: refused?.invalidRows ?? 0 }
    }
  }
}

async function publish(
  { begun, context }: ImportRun,
  db: Queryable,
  batch: Awaited<ReturnType<typeof commitImportRows>>[number],
): Promise<void> {
  const { events } = begun.options
  if (events === 'none' || batch.committed === 0) return
  const { entityIds, firstRow, lastRow } = batch
  await publishImportEvents(db, context.job.tenantId, begun.id, events === 'entity', entityIds, firstRow, lastRow)
}

/** Constraints, values, limits of an index, and what a trigger raises: of the row, not of the moment. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  return /^(?:22|23|54|P0)...$/.test(code)
}
