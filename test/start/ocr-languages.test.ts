import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findOcrTools } from '../../src/workers/handlers/documents/find-ocr-tools.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { runService, startService } from '../support/service.ts'

let home: string
let database: TestDatabase
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'stellwerk-languages-'))
  database = await testDatabase()
})
afterAll(async () => {
  await database.drop()
  await rm(home, { recursive: true, force: true })
})

const settingsOf = (languages: string, tesseract = 'off') => ({
  DATABASE_URL: database.url,
  STELLWERK_ENV: 'development',
  STELLWERK_OCR_LANGUAGES: languages,
  TESSERACT_BIN: tesseract,
})

/** A program that says that it knows these languages. */
async function programOf(languages: readonly string[]): Promise<string> {
  const path = join(home, languages.join('-'))
  const script = `#!/bin/sh\ncase "$1" in --list-langs) echo "${languages.join(' ')}";; --version) echo "tesseract 5.9";; esac\n`
  await writeFile(path, script, { mode: 0o755 })
  return path
}

test('a language without data refuses the start, and says what to install', async () => {
  const { code, output } = await runService({
    args: ['start'],
    dataDir: join(home, 'a'),
    settings: settingsOf('eng,fra'),
  })
  expect({ code, output }).toMatchObject({ code: 1 })
  expect(output).toContain('STELLWERK_OCR_LANGUAGES names fra, but there is no data to recognise text with')
  expect(output).toContain('Install tesseract-ocr-fra (Debian), or @tesseract.js-data/fra (npm)')
  expect(output).not.toMatch(/^ {4}at /m)
})

test('what is no code of a language is refused with the setting', async () => {
  const { code, output } = await runService({ args: ['start'], dataDir: join(home, 'b'), settings: settingsOf('de') })
  expect({ code, output }).toMatchObject({ code: 1 })
  expect(output).toContain('STELLWERK_OCR_LANGUAGES is "de", which is not a comma-separated list of language codes')
})

test(
  'a language that the program knows is good, and one that came with the packages',
  { timeout: 60_000 },
  async () => {
    const program = await programOf(['eng', 'chi_sim'])
    for (const settings of [settingsOf('chi_sim, eng', program), settingsOf('eng')]) {
      const service = startService({ dataDir: join(home, settings.STELLWERK_OCR_LANGUAGES), settings })
      await service.started()
      await service.stop()
    }
    const programs = { tesseract: program, pdftoppm: 'off' }
    const folder = join(home, 'data')
    expect(
      await findOcrTools({ programs: { ...programs, languages: ['chi_sim', 'eng', 'eng'] }, folder }),
    ).toMatchObject({
      tesseract: program,
      tesseractVersion: '5.9',
      languages: ['chi_sim', 'eng'],
    })
    // It lacks German: what npm brought does it.
    expect(await findOcrTools({ programs: { ...programs, languages: null }, folder })).toMatchObject({
      tesseract: null,
      languages: ['deu', 'eng'],
    })
  },
)
