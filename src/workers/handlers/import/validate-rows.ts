import { mostBadRows } from '../../../jobs/import-options.ts'
import { startCommitting } from '../../../sql/start-committing.ts'
import { validateImportRows } from '../../../sql/validate-import-rows.ts'
import type { ImportRun } from './import-run.ts'
import { createPace } from './pace.ts'

/** What follows when all rows are checked. */
export type Verdict = 'commit' | 'dry run' | { readonly bad: number; readonly most: number }

/** Checks the rows that were read in, and decides once whether the import goes on. */
export async function validateRows(run: ImportRun): Promise<Verdict> {
  const { begun } = run
  const pace = createPace({ start: 100, max: run.pace.validateRows })
  let { validatedRows, invalidRows } = begun
  for (;;) {
    const started = performance.now()
    const [batch] = await run.batch('validating', (db) => validateImportRows(db, begun.id, pace.size()))
    pace.took(performance.now() - started)
    invalidRows = batch!.invalidRows
    if (batch!.validated === 0) break
    validatedRows += batch!.validated
    await run.report('validating', validatedRows / Math.max(begun.totalRows ?? 0, 1), validatedRows)
    run.rest()
  }
  const most = mostBadRows(begun.options)
  if (most !== null && invalidRows > most) return { bad: invalidRows, most }
  if (begun.options.dryRun) return 'dry run'
  await run.batch('validating', (db) => startCommitting(db, begun.id))
  return 'commit'
}
