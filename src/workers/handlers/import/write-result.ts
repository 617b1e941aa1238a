import { Readable } from 'node:stream'
import { csvCell } from '../../../jobs/csv-cell.ts'
import { rowErrorMessage } from '../../../jobs/import-errors.ts'
import { ObjectExists, type ObjectStore } from '../../../objects/object-store.ts'
import { readImportResults, type ImportResultRow } from '../../../sql/read-import-results.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { ImportRun } from './import-run.ts'

const readRows = { start: 100, max: 2_000 }

/** Where the outcome of an import lies. */
export function resultKeyOf(importId: string): string {
  return `imports/${importId}/result.csv`
}

/**
 * Writes each row of the file with what became of it as CSV, which spreadsheets open as it is: with a byte order mark, and without
 * anything that they would run. Answers the object's key.
 */
export async function writeResult(
  run: ImportRun,
  {
    db,
    store,
    header,
    failed,
  }: {
    readonly db: Queryable
    readonly store: ObjectStore
    readonly header: readonly string[]
    readonly failed: boolean
  },
): Promise<string> {
  const { begun, context } = run
  const key = resultKeyOf(begun.id)
  async function* lines(): AsyncGenerator<string> {
    yield `\uFEFF${['row', 'status', 'errors', 'entity_id', ...header].map(csvCell).join(',')}\r\n`
    let limit = readRows.start
    for (let after = 0, written = 0; ;) {
      const rows = await readImportResults(db, begun.id, after, limit, failed)
      if (rows.length === 0) return
      yield rows.map((row) => lineOf(row, header)).join('')
      after = rows.at(-1)!.rowNo
      written += rows.length
      // Fewer than asked for: they are large, or the last ones.
      limit = rows.length < limit ? rows.length + 1 : Math.min(limit * 2, readRows.max)
      await run.report('reporting', (0.9 * written) / Math.max(begun.totalRows ?? 0, 1), written)
    }
  }
  await store.remove(key)
  try {
    await store.put(key, Readable.from(lines()), { maxBytes: Number.MAX_SAFE_INTEGER, signal: context.signal })
  } catch (error) {
    // Another run of the same import wrote the same.
    if (!(error instanceof ObjectExists)) throw error
  }
  return key
}

function lineOf({ rowNo, status, errors, entityId, raw }: ImportResultRow, header: readonly string[]): string {
  const problems = (errors ?? []).map(
    (error) => `${error.attr == null ? '' : `${error.attr}: `}${error.code}: ${rowErrorMessage(error)}`,
  )
  const cells = [rowNo, status, problems.join(' | '), status === 'committed' ? entityId : null]
  return `${[...cells, ...header.map((name) => textOf(raw[name]))].map(csvCell).join(',')}\r\n`
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}
