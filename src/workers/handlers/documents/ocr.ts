import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRequire } from 'node:module'
import type { OcrTools } from './reader-protocol.ts'
import { runProgram } from './run-program.ts'

/** Recognises the text of pictures. */
export interface Ocr {
  readonly name: 'tesseract' | 'tesseract.js'
  readonly version: string
  /** `dpi` null: as the file says. Throws where the file cannot be unpacked. */
  recognize(path: string, dpi: number | null): Promise<Recognized>
}

export interface Recognized {
  readonly text: string
  /** 0 to 1. */
  readonly confidence: number | null
}

/** The note on a page beyond those that are recognised. */
export function notRecognized(most: number): string {
  return `Not recognised: at most ${most} pages of a document are.`
}

/** The tesseract program where it is there: twice as fast. */
export function createOcr(tools: OcrTools, folder: string): Ocr {
  return tools.tesseract === null ? byLibrary(tools) : byProgram(tools, tools.tesseract, folder)
}

function byProgram({ languages, tesseractVersion }: OcrTools, program: string, folder: string): Ocr {
  return {
    name: 'tesseract',
    version: tesseractVersion ?? '',
    async recognize(path, dpi) {
      const out = join(folder, 'recognized')
      const resolution = dpi === null ? [] : ['--dpi', String(dpi)]
      await runProgram(program, [path, out, '-l', languages.join('+'), ...resolution, 'txt', 'tsv'])
      const [text, table] = await Promise.all([readFile(`${out}.txt`, 'utf8'), readFile(`${out}.tsv`, 'utf8')])
      // A TIFF that it cannot unpack is no error to it (5.3.0): it ends well, with a table that has no page.
      if (!/^1\t/m.test(table)) throw new Error('tesseract found no page in it.')
      return { text: withoutFormFeeds(text), confidence: confidenceOf(table) }
    },
  }
}

function byLibrary({ languages, dataFolder }: OcrTools): Ocr {
  const { version } = createRequire(import.meta.url)('tesseract.js/package.json') as { version: string }
  const start = async () => {
    const { createWorker, OEM } = await import('tesseract.js')
    return createWorker([...languages], OEM.LSTM_ONLY, {
      langPath: dataFolder,
      cacheMethod: 'none',
      // Without one a bad picture ends the process (naptha/tesseract.js#1075); the promise tells it as well.
      errorHandler: () => undefined,
    })
  }
  let worker: ReturnType<typeof start> | undefined
  return {
    name: 'tesseract.js',
    version,
    async recognize(path) {
      const { recognize } = await (worker ??= start())
      const { data } = await recognize(await readFile(path)).catch((error: unknown) => {
        throw error instanceof Error ? error : new Error(`${String(error).replace(/\.?$/, '.')}`)
      })
      return { text: data.text, confidence: data.confidence / 100 }
    },
  }
}

/** The mean over all words, long ones for more. */
function confidenceOf(tsv: string): number | null {
  let [sum, weight] = [0, 0]
  for (const line of tsv.split('\n').slice(1)) {
    const cells = line.split('\t')
    const [confidence, word] = [Number(cells[10]), cells[11] ?? '']
    if (cells[0] !== '5' || !(confidence >= 0)) continue
    sum += confidence * word.length
    weight += word.length
  }
  return weight === 0 ? null : sum / weight / 100
}

function withoutFormFeeds(text: string): string {
  return text.replaceAll('\f', '')
}
