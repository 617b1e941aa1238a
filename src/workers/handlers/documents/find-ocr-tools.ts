import { execFile } from 'node:child_process'
import { copyFile, mkdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Config } from '../../../config.ts'
import { StartError } from '../../../jobs/errors.ts'
import type { OcrTools } from './reader-protocol.ts'

interface FindOcrTools {
  readonly programs: Config['ocr']
  /** Where the language data for tesseract.js is put together. */
  readonly folder: string
}

const run = promisify(execFile)
const require = createRequire(import.meta.url)
/** Whose data is a dependency. */
const defaultLanguages = ['deu', 'eng']
const answerWithinMs = 10_000

/**
 * What text is recognised with on this machine: the programs where they are there and know the languages, else what npm brought.
 * Throws StartError where nothing here knows all of the languages.
 */
export async function findOcrTools({ programs, folder }: FindOcrTools): Promise<OcrTools> {
  const languages = [...new Set(programs.languages ?? defaultLanguages)]
  const [tesseract, pdftoppm] = await Promise.all([
    find(programs.tesseract, 'tesseract'),
    find(programs.pdftoppm, 'pdftoppm'),
  ])
  const version = tesseract === null ? null : await tesseractVersion(tesseract, languages)
  if (version === null) await provideData(languages, folder)
  return {
    tesseract: version === null ? null : tesseract,
    tesseractVersion: version,
    pdftoppm,
    languages,
    dataFolder: folder,
  }
}

/** `setting`: a path, `off`, or null: look for it. */
async function find(setting: string | null, name: string): Promise<string | null> {
  if (setting === 'off') return null
  if (setting !== null) return setting
  const found = await run('/bin/sh', ['-c', 'command -v "$1"', 'sh', name], { timeout: answerWithinMs }).catch(
    () => null,
  )
  return found?.stdout.trim() || null
}

/** Null: it does not run, or lacks a language. */
async function tesseractVersion(path: string, languages: readonly string[]): Promise<string | null> {
  try {
    const [{ stdout: list }, { stdout: about }] = await Promise.all([
      run(path, ['--list-langs'], { timeout: answerWithinMs }),
      run(path, ['--version'], { timeout: answerWithinMs }),
    ])
    const known = new Set(list.split(/\s+/))
    if (!languages.every((language) => known.has(language))) return null
    return /tesseract v?([\d.]+)/.exec(about)?.[1] ?? ''
  } catch {
    return null
  }
}

/** tesseract.js wants the data of all languages in one folder; each comes in a package of its own. */
async function provideData(languages: readonly string[], folder: string): Promise<void> {
  const missing = languages.filter((language) => dataOf(language) === null)
  if (missing.length > 0)
    throw new StartError(
      `STELLWERK_OCR_LANGUAGES names ${missing.join(', ')}, but there is no data to recognise text with: the program tesseract does not know all of ${languages.join(', ')}, and packages are missing. ` +
        `Install ${missing.map((language) => `tesseract-ocr-${language.replaceAll('_', '-')}`).join(' ')} (Debian), or ${missing.map((language) => `@tesseract.js-data/${language}`).join(' ')} (npm), or leave the languages out.`,
    )
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const language of languages) {
    const [source, target] = [dataOf(language)!, join(folder, `${language}.traineddata.gz`)]
    const [wanted, there] = await Promise.all([stat(source), stat(target).catch(() => null)])
    if (there?.size !== wanted.size) await copyFile(source, target)
  }
}

/** The small, exact kind of the data: 1.3 MB for English, 3 MB for German. Null: it is not installed. */
function dataOf(language: string): string | null {
  try {
    return require.resolve(`@tesseract.js-data/${language}/4.0.0_best_int/${language}.traineddata.gz`)
  } catch {
    return null
  }
}
