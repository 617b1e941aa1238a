import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import type { Config } from '../../../config.ts'
import type { DocumentProcessPayload } from '../../../jobs/document-process-payload.ts'
import type { WormArchive } from '../../../objects/worm-archive.ts'
import type { Handler } from '../../handler.ts'
import { lateHandler } from '../../late-handler.ts'
import type { OcrTools } from './reader-protocol.ts'

interface DocumentsDeps {
  readonly config: Pick<Config, 'ocr'>
  readonly pool: Pool
  readonly archive: WormArchive
  readonly dataDir: string
}

/** Longer than any run. */
const leftoverAfterMs = 60 * 60_000

/** What reads documents in this process. */
export async function createDocuments({
  config,
  pool,
  archive,
  dataDir,
}: DocumentsDeps): Promise<Handler<DocumentProcessPayload>> {
  const folder = join(dataDir, 'documents-work')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await dropLeftovers(folder)
  let found: Promise<OcrTools> | undefined
  const tools = (): Promise<OcrTools> =>
    (found ??= import('./find-ocr-tools.ts').then(({ findOcrTools }) =>
      findOcrTools({ programs: config.ocr, folder: join(dataDir, 'ocr') }),
    ))
  // What is set has to be there; what is not came with the packages.
  if (config.ocr.languages !== null) await tools()
  return lateHandler(async () => {
    const { createDocumentProcess } = await import('../document-process.ts')
    return createDocumentProcess({ pool, archive, tools, folder })
  })
}

/** Copies of a process that was killed. */
async function dropLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const facts = await stat(path).catch(() => null)
    if (facts !== null && Date.now() - facts.mtimeMs > leftoverAfterMs) await rm(path, { recursive: true, force: true })
  }
}
