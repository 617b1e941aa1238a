import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FileRefused } from '../../src/jobs/import-errors.ts'
import { importOptions } from '../../src/jobs/import-options.ts'
import { createFolderStore } from '../../src/objects/folder-store.ts'
import type { ObjectStore } from '../../src/objects/object-store.ts'
import { copyFromArchive } from '../../src/workers/handlers/documents/copy-from-archive.ts'
import type { ImportRun } from '../../src/workers/handlers/import/import-run.ts'
import { stageFile } from '../../src/workers/handlers/import/stage-file.ts'
import { until } from '../support/until.ts'

let folder: string
/** A store that remembers what was opened. */
let store: ObjectStore
let opened: Readable[]
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-bodies-'))
  opened = []
  const inner = await createFolderStore(folder)
  store = {
    ...inner,
    async openRead(key) {
      const body = await inner.openRead(key)
      opened.push(body)
      return body
    },
  }
})
afterEach(() => rm(folder, { recursive: true }))

const put = (text: string) => store.put('file', Readable.from([Buffer.from(text)]), { maxBytes: 1_000 })
const allClosed = () => until(() => opened.every(({ closed }) => closed), 'all that was opened is closed')

test('an import that is refused before its first row leaves no file open', async () => {
  const { sizeBytes } = await put('{"x": 1}\n')
  const options = importOptions.parse({ mapping: { x: 'gone' }, encoding: 'utf-8' })
  const run = {
    begun: { id: 'i', format: null, status: 'staging', filename: 'a.ndjson', objectKey: 'file', sizeBytes, options },
    context: { signal: AbortSignal.timeout(10_000) },
    batch: async () => ({ lastRow: 0, attributes: [] }),
  }
  await expect(stageFile(run as unknown as ImportRun, store)).rejects.toBeInstanceOf(FileRefused)
  expect(opened).toHaveLength(2)
  await allClosed()
})

test('a document whose copy cannot be made leaves no file open', async () => {
  const { sizeBytes } = await put('text')
  const archived = { archiveKey: 'file', sizeBytes, sha256: createHash('sha256').update('text').digest('hex') }
  const copy = copyFromArchive(store, archived, join(folder, 'nothing/copy'), AbortSignal.timeout(10_000))
  await expect(copy).rejects.toThrow('ENOENT')
  await allClosed()
})
