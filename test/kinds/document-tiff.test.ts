import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fullReading } from '../../src/jobs/document-limits.ts'
import { readImage } from '../../src/workers/handlers/documents/read-image.ts'
import { openTiff } from '../../src/workers/handlers/documents/tiff-pages.ts'
import { makeTiff, makeTiffPage } from './documents.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-tiff-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What becomes of a file with this text recogniser: it says of each picture how large it is. */
async function read(bytes: Buffer, ocrPages = fullReading.ocrPages) {
  const path = join(folder, 'original')
  const program = join(folder, 'tesseract')
  await writeFile(path, bytes)
  await writeFile(program, `#!/bin/sh\nwc -c < "$1" > "$2.txt"\nprintf '1\\t1\\n' > "$2.tsv"\n`, { mode: 0o755 })
  const tools = { tesseract: program, tesseractVersion: '5', pdftoppm: null, languages: ['eng'], dataFolder: folder }
  return readImage({ path, folder, type: 'image/tiff', terms: { ...fullReading, ocrPages }, tools }, () => undefined)
}
const refusal = (bytes: Buffer) =>
  read(bytes).then(
    () => 'it was read',
    (error: Error) => `${error.name}: ${error.message}`,
  )
const page = makeTiffPage(8)
const sizes = async (bytes: Buffer) => {
  const path = join(folder, 'sizes')
  await writeFile(path, bytes)
  return (await openTiff(path))?.map(({ size }) => size?.width ?? null)
}

test.each([false, true])(
  'the pages of a TIFF are found, without its thumbnails (big endian: %s)',
  async (bigEndian) => {
    const file = makeTiff([page, { ...makeTiffPage(4), thumbnail: true }, makeTiffPage(6)], { bigEndian })
    expect(await sizes(file)).toEqual([8, 6])
    expect((await read(file)).pages.map(({ engine }) => engine)).toEqual(['tesseract', 'tesseract'])
  },
)

test('pages beyond the limits are noted, and a file of more than 500 is refused', async () => {
  const { pages } = await read(makeTiff([page, page, page]), 2)
  expect(pages.map(({ note }) => note)).toEqual([null, null, 'Not recognised: at most 2 pages of a document are.'])
  expect(await refusal(makeTiff(Array.from({ length: 501 }, () => page)))).toBe(
    'too_large: The image has more than 500 pages, which is the most that is read. Split it and store the parts.',
  )
})

test('the size of every page is looked at before it is unpacked', async () => {
  const large = { ...page, width: 40_000, height: 40_000 }
  expect(await refusal(makeTiff([large]))).toMatch(/^too_large: The image has 40000 x 40000 pixels/)
  const { pages } = await read(makeTiff([page, large]))
  expect(pages[1]).toMatchObject({ engine: null, note: expect.stringContaining('40000 x 40000') })
})

test('what is damaged is noted where something is left, else the document is refused', async () => {
  const two = makeTiff([page, page])
  expect(await sizes(two.subarray(0, -10))).toEqual([8, null])
  const { pages } = await read(two.subarray(0, -10))
  expect(pages.map(({ note }) => note)).toEqual([null, 'The page is damaged. Store it anew from its source.'])
  // Each says that the other one comes next.
  const round = Buffer.from(two)
  const first = round.readUInt32LE(4)
  round.writeUInt32LE(first, round.length - 4)
  expect(await sizes(round)).toEqual([8, 8, null])
  for (const broken of [two.subarray(0, 8), two.subarray(0, 40), Buffer.from('II*\0')])
    expect(await refusal(broken)).toMatch(/^corrupt_document: The file begins like image\/tiff but has no size/)
})

test('no bytes crash it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('II*\0', 'MM\0*'), fc.uint8Array({ maxLength: 64 }), async (magic, bytes) => {
      const found = await sizes(Buffer.concat([Buffer.from(magic, 'latin1'), bytes]))
      expect(found?.length).not.toBe(0)
    }),
  )
})
