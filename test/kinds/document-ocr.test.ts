import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { fontsMissing, startDocumentWorkers, type DocumentWorkers } from './document-support.ts'
import { characterErrors, invoice, makePdf, makeScan, makeScannedPage, makeTiff, makeTiffPage } from './documents.ts'

const engines = [
  {
    engine: 'tesseract.js',
    what: 'what npm brings',
    env: { TESSERACT_BIN: 'off', PDFTOPPM_BIN: 'off' },
    missing: null,
  },
  { engine: 'tesseract', what: "Debian's programs", env: {}, missing: programsMissing() },
]

for (const { engine, what, env, missing } of engines) {
  describe(`with ${what}`, () => {
    const reason = fontsMissing ?? missing
    if (reason !== null) {
      leaveOut(reason)
      return
    }
    let database: TestDatabase
    let workers: DocumentWorkers
    beforeAll(async () => {
      database = await testDatabase()
      workers = await startDocumentWorkers(database, { env })
    })
    afterAll(async () => {
      await workers?.stop()
      await database?.drop()
    })

    test(
      'KINDS 10.1: a scan as PDF: its number, its umlauts, under two errors in a hundred characters',
      { timeout: 90_000 },
      async () => {
        const scan = makeScannedPage()
        const small = { ...makeScannedPage(['Anlage zur Rechnung', 'Seite zwei mit größeren Möbeln']), small: true }
        const pdf = makePdf([scan, small, { lines: [['Diese Seite hat ihren eigenen Text.', 12]] }])
        const read = await workers.read(pdf, { filename: 'Scan_0815.pdf' })
        const [first, second, third] = read['pages'] as { engine: string; confidence?: number }[]
        expect(read).toMatchObject({
          engine: [engine, 'unpdf'].toSorted().join('+'),
          page_count: 3,
          language: 'de',
          title: 'Rechnung Nr. 2026-004711',
          title_source: 'content',
        })
        expect([first!.engine, second!.engine, third!.engine]).toEqual([engine, engine, 'unpdf'])
        expect(read['ocr_confidence']).toBeGreaterThan(0.8)
        const [pageOne, pageTwo, pageThree] = read.content!.split('\f')
        expect(characterErrors(pageOne!, invoice)).toBeLessThan(2)
        for (const word of ['Rechnung Nr. 2026-004711', 'Königstraße', 'Büromöbel', 'größerer', 'Grüße'])
          expect(pageOne).toContain(word)
        // Not a page of its own: it had to be drawn.
        expect(pageTwo).toContain('größeren Möbeln')
        expect(pageThree).toContain('Diese Seite hat ihren eigenen Text.')
        expect(read['engine_version']).toMatch(engine === 'tesseract' ? /tesseract \d/ : /tesseract\.js \d/)
      },
    )

    test('KINDS 10.1: a scan as JPEG', { timeout: 90_000 }, async () => {
      const read = await workers.read(makeScan().canvas.toBuffer('image/jpeg', 85), { filename: 'foto.jpg' })
      expect(read).toMatchObject({ engine, page_count: 1, title: 'Rechnung Nr. 2026-004711' })
      expect(characterErrors(read.content!, invoice)).toBeLessThan(2)
    })

    test('a TIFF of several pages: every page is read, and a damaged one is noted', { timeout: 90_000 }, async () => {
      const pages = [invoice, ['Anlage zur Rechnung', 'Seite zwei mit größeren Möbeln']].map(makeTiffPage)
      const read = await workers.read(makeTiff(pages), { filename: 'fax.tif' })
      expect(read).toMatchObject({ engine, page_count: 2, title: 'Rechnung Nr. 2026-004711' })
      const [first, second] = read.content!.split('\f')
      expect(characterErrors(first!, invoice)).toBeLessThan(2)
      expect(first).not.toContain('Anlage')
      expect(second).toContain('größeren Möbeln')
      const cut = await workers.read(makeTiff(pages).subarray(0, -20), { filename: 'cut.tif' })
      expect(cut['pages']).toMatchObject([{ engine }, { engine: null, note: expect.stringContaining('damaged') }])
    })

    test('a TIFF that cannot be unpacked is given up', { timeout: 60_000 }, async () => {
      // Its only page says that it is compressed in a way that nobody knows.
      const bytes = makeTiff([makeTiffPage(64)])
      bytes.writeUInt32LE(54_321, bytes.indexOf(Buffer.from([3, 1, 4, 0, 1, 0, 0, 0])) + 8)
      const { lastError } = await workers.refused(bytes, { filename: 'bad.tif' })
      expect(lastError).toMatch(/^corrupt_document: The image cannot be unpacked/)
    })

    test('a picture that cannot be unpacked is given up, and the next one is read', { timeout: 60_000 }, async () => {
      // Its header says what a good one says.
      const png = makeScan(['x']).canvas.toBuffer('image/png')
      const broken = Buffer.concat([png.subarray(0, 60), Buffer.alloc(5_000, 0x55)])
      const { lastError } = await workers.refused(broken)
      expect(lastError).toMatch(/^corrupt_document: The image cannot be unpacked/)
      expect(await workers.read(Buffer.from('Und weiter.'))).toMatchObject({ engine: 'text' })
    })
  })
}

function programsMissing(): string | null {
  try {
    const languages = execFileSync('tesseract', ['--list-langs'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    execFileSync('pdftoppm', ['-v'], { stdio: 'ignore' })
    if (/\bdeu\b/.test(languages)) return null
  } catch {
    // Not there.
  }
  const reason = 'the programs tesseract (with deu) and pdftoppm are not there'
  return process.env['CI'] === 'true' ? null : reason
}
