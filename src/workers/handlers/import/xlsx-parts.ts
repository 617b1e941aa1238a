import { StringDecoder } from 'node:string_decoder'
import yauzl, { type Entry, type ZipFile } from 'yauzl'
import { FileRefused } from '../../../jobs/import-errors.ts'
import { importLimits } from '../../../jobs/import-options.ts'
import { brokenWorkbook, type XmlPart } from './xml-walk.ts'

/** The parts of a workbook. Reading one that is not there, or too large, throws FileRefused. */
export interface WorkbookParts {
  has(path: string): boolean
  read(path: string): XmlPart
  close(): void
}

/**
 * Opens a workbook: packed it is in memory, which the limit of its size allows. Parts are unpacked while they are read, and only as
 * far as the limit goes, whatever the file says of their sizes.
 */
export async function openWorkbook(body: AsyncIterable<Buffer>): Promise<WorkbookParts> {
  const zip = await openZip(await packed(body))
  const parts = await listParts(zip)
  const budget = { left: importLimits.xlsxUnpackedBytes as number }
  return {
    has: (path) => parts.has(path),
    read: (path) => readPart(zip, parts, path, budget),
    close: () => zip.close(),
  }
}

async function packed(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > importLimits.xlsxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): FileRefused {
  return new FileRefused(
    'file_too_large',
    `A workbook may have at most ${importLimits.xlsxBytes / 1024 / 1024} MiB. Save it as CSV, which may be larger.`,
  )
}

async function openZip(bytes: Buffer): Promise<ZipFile> {
  try {
    return await yauzl.fromBufferPromise(bytes, { lazyEntries: true, validateEntrySizes: true })
  } catch {
    throw brokenWorkbook('it is no complete zip file')
  }
}

const mostParts = 10_000

async function listParts(zip: ZipFile): Promise<ReadonlyMap<string, Entry>> {
  const parts = new Map<string, Entry>()
  if (zip.entryCount > mostParts) throw brokenWorkbook('it has too many parts')
  try {
    for await (const entry of zip.eachEntry()) parts.set(entry.fileName, entry)
  } catch {
    throw brokenWorkbook('its list of parts is damaged')
  }
  if (parts.has('EncryptedPackage')) throw brokenWorkbook('it has a password')
  return parts
}

async function* readPart(
  zip: ZipFile,
  parts: ReadonlyMap<string, Entry>,
  path: string,
  budget: { left: number },
): AsyncGenerator<string> {
  const entry = parts.get(path)
  if (entry === undefined) throw brokenWorkbook(`it has no ${path}`)
  if (entry.isEncrypted()) throw brokenWorkbook('it has a password')
  const decoder = new StringDecoder('utf8')
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      budget.left -= (chunk as Buffer).length
      if (budget.left < 0) throw tooMuch()
      yield decoder.write(chunk as Buffer)
    }
  } catch (error) {
    throw error instanceof FileRefused ? error : brokenWorkbook(`${path} is damaged`)
  }
}

function tooMuch(): FileRefused {
  const most = importLimits.xlsxUnpackedBytes / 1024 / 1024
  return new FileRefused(
    'file_too_large',
    `Unpacked, the workbook has more than ${most.toLocaleString('en')} MiB. Save it as CSV.`,
  )
}
