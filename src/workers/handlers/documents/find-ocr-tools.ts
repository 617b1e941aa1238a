import { execFile } from 'node:child_process'
import { copyFile, mkdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Config } from '../../../config.ts'
import type { OcrTools } from './reader-protocol.ts'

interface FindOcrTools {
  readonly programs: Config['ocr']
  /** Where the language data for tesseract.js is put together. */
  readonly folder: string
}

const run = promisify(execFile)
const require = createRequire(import.meta.url)
/** The small, exact kind of the data: 1.3 and 3 MB. */
const dataOf: Readonly<Record<string, () => string>> = {
  deu: () => require.resolve('@tesseract.js-data/deu/4.0.0_best_int/deu.traineddata.gz'),
  eng: () => require.resolve('@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz'),
}
const languages = Object.keys(dataOf)
const answerWithinMs = 10_000

/** What text is recognised with on this machine: the programs where they are there and know the languages, else what npm brought. */
export async function findOcrTools({ programs, folder }: FindOcrTools): Promise<OcrTools> {
  const [tesseract, pdftoppm] = await Promise.all([
    find(programs.tesseract, 'tesseract'),
    find(programs.pdftoppm, 'pdftoppm'),
  ])
  const version = tesseract === null ? null : await tesseractVersion(tesseract)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const [language, source] of Object.entries(dataOf))
    await provideData(source(), join(folder, `${language}.traineddata.gz`))
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
async function tesseractVersion(path: string): Promise<string | null> {
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
async function provideData(source: string, target: string): Promise<void> {
  const [wanted, there] = await Promise.all([stat(source), stat(target).catch(() => null)])
  if (there?.size !== wanted.size) await copyFile(source, target)
}
