import { createHash, type Hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { NeverRetry } from '../../../jobs/errors.ts'
import { FileRefused } from '../../../jobs/import-errors.ts'
import { importLimits } from '../../../jobs/import-options.ts'
import { ObjectMissing, type ObjectStore } from '../../../objects/object-store.ts'
import { endStaging } from '../../../sql/end-staging.ts'
import { readImportAttributes } from '../../../sql/read-import-attributes.ts'
import { stageImport } from '../../../sql/stage-import.ts'
import { stageImportRows } from '../../../sql/stage-import-rows.ts'
import { findForm, openSource, type ImportSource } from './import-source.ts'
import type { ImportRun } from './import-run.ts'
import type { StagedRow } from './staged-row.ts'

/** A batch ends at so many characters, however few rows they are. */
const batchChars = 4 * 1024 * 1024

/**
 * Reads the file into rows, from its beginning in each slice: what is there already is skipped, which takes a second for 500,000 rows.
 * Throws FileRefused, and NeverRetry where the bytes are not those that were uploaded.
 */
export async function stageFile(run: ImportRun, store: ObjectStore): Promise<void> {
  const { begun, context } = run
  const known = begun.format !== null && begun.status === 'staging'
  const form = known
    ? { format: begun.format!, encoding: begun.encoding, warning: null }
    : await findForm(
        async () => observed(await open(store, begun.objectKey), context.signal),
        begun.options,
        begun.filename,
      )
  if (form.format === 'xlsx' && begun.sizeBytes > importLimits.xlsxBytes)
    throw tooLarge('A workbook', importLimits.xlsxBytes)
  if (begun.sizeBytes > importLimits.csvBytes) throw tooLarge('A file', importLimits.csvBytes)
  const { lastRow, attributes } = await run.batch(begun.status, async (db, last) => {
    await stageImport(db, begun.id, form.format, form.encoding, form.warning)
    return { lastRow: last, attributes: await readImportAttributes(db, begun.entityTypeId) }
  })

  const hash = createHash('sha256')
  let bytesRead = 0
  const body = await open(store, begun.objectKey)
  const bytes = observed(body, context.signal, hash, (count) => (bytesRead += count))
  const source = openBeside(body, () => openSource(bytes, form, attributes, begun.options))
  let batch: StagedRow[] = []
  let chars = 0
  const flush = async (): Promise<void> => {
    const rows = batch
    batch = []
    chars = 0
    await run.batch('staging', (db) => stageImportRows(db, begun.id, ...columnsOf(rows)))
    await run.report('staging', bytesRead / Math.max(begun.sizeBytes, 1), rows.at(-1)!.rowNo)
    run.rest()
  }
  let count = 0
  for await (const rows of source.rows) {
    for (const row of rows) {
      if ((count += 1) > importLimits.rows) throw tooManyRows()
      if (row.rowNo <= lastRow) continue
      batch.push(row)
      chars += row.raw.length
      if (batch.length >= run.pace.stageRows || chars >= batchChars) await flush()
    }
  }
  if (batch.length > 0) await flush()
  if (hash.digest('hex') !== begun.sha256)
    throw new NeverRetry('The bytes of the file are not those that were uploaded. Upload it again.')
  await run.batch('staging', (db) =>
    endStaging(db, begun.id, JSON.stringify(Object.fromEntries(source.names)), [...source.header]),
  )
}

/** What is refused before anything is read would leave it open. */
function openBeside(body: Readable, make: () => ImportSource): ImportSource {
  try {
    return make()
  } catch (error) {
    body.destroy()
    throw error
  }
}

async function open(store: ObjectStore, key: string): Promise<Readable> {
  try {
    return await store.openRead(key)
  } catch (error) {
    if (error instanceof ObjectMissing)
      throw new NeverRetry('The file is not in the object store any more. Upload it again.')
    throw error
  }
}

/** The same bytes, looked at while they pass. A read ends soon after the signal. */
async function* observed(
  bytes: AsyncIterable<Buffer>,
  signal: AbortSignal,
  hash?: Hash,
  onBytes?: (count: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    signal.throwIfAborted()
    hash?.update(chunk)
    onBytes?.(chunk.length)
    yield chunk
  }
}

function columnsOf(
  rows: readonly StagedRow[],
): [rowNos: number[], raws: string[], externalKeys: (string | null)[], errors: (string | null)[]] {
  return [
    rows.map(({ rowNo }) => rowNo),
    rows.map(({ raw }) => raw),
    rows.map(({ externalKey }) => externalKey),
    rows.map(({ errors }) => (errors === null ? null : JSON.stringify(errors))),
  ]
}

function tooManyRows(): FileRefused {
  const most = importLimits.rows.toLocaleString('en')
  return new FileRefused('too_many_rows', `The file has more than ${most} rows. Split it.`)
}

function tooLarge(what: string, bytes: number): FileRefused {
  return new FileRefused('file_too_large', `${what} may have at most ${bytes / 1024 / 1024} MiB. Split it.`)
}
