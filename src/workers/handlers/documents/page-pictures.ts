import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createIsomorphicCanvasFactory, extractImages, getDocumentProxy, getResolvedPDFJS } from 'unpdf'
import { documentLimits } from '../../../jobs/document-limits.ts'
import type { Pdf, PdfPage } from './pdf.ts'
import type { ReadingOrder } from './reader-protocol.ts'
import { runProgram } from './run-program.ts'

/** Makes pictures of pages, in grey and without compression: PNG took forty times as long. */
export interface PagePictures {
  /** Null: nothing here can draw it. */
  of(pdf: Pdf, page: PdfPage, number: number): Promise<Picture | null>
}

interface Picture {
  readonly path: string
  /** Null: not known. */
  readonly dpi: number | null
}

const pointsPerInch = 72
const lowestDpi = 50
/** What covers less of its page is a picture on it, not the page. */
const coversAtLeast = 0.8

/**
 * The picture that a scanner put on the page, in its own pixels (drawn anew at another resolution, digits came apart); else the page
 * drawn by pdftoppm where it is there, or by the PDF library.
 */
export function createPagePictures({ path, folder, terms, tools }: ReadingOrder): PagePictures {
  const target = join(folder, 'page.pgm')
  let drawable: Promise<Pdf | null> | undefined

  const byProgram = async (program: string, dpi: number, number: number): Promise<Picture> => {
    const only = ['-f', String(number), '-l', String(number), '-singlefile']
    await runProgram(program, ['-gray', '-r', String(dpi), ...only, path, join(folder, 'page')])
    return { path: target, dpi }
  }

  const byScan = async (pdf: Pdf, page: PdfPage, number: number): Promise<Picture | null> => {
    if (!(await isScan(page))) return null
    const [scan, ...others] = await extractImages(pdf, number)
    if (scan === undefined || others.length > 0) return null
    await writePgm(target, scan.width, scan.height, scan.data, scan.channels)
    const [left, , right] = page.view as [number, number, number, number]
    return { path: target, dpi: Math.round((scan.width * pointsPerInch) / Math.max(right - left, 1)) }
  }

  const byDrawing = async (number: number, dpi: number): Promise<Picture | null> => {
    const pdf = await (drawable ??= openDrawable(path))
    if (pdf === null) return null
    const page = await pdf.getPage(number)
    const viewport = page.getViewport({ scale: dpi / pointsPerInch })
    const { createCanvas } = await import('@napi-rs/canvas')
    const canvas = createCanvas(Math.ceil(viewport.width), Math.ceil(viewport.height))
    const context = canvas.getContext('2d')
    await page.render({ canvas, canvasContext: context, viewport } as never).promise
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
    await writePgm(target, canvas.width, canvas.height, data, 4)
    return { path: target, dpi }
  }

  return {
    async of(pdf, page, number) {
      const dpi = dpiOf(page, terms.dpi)
      if (dpi < lowestDpi) throw new Error('it is too large to be drawn.')
      const scan = await byScan(pdf, page, number).catch(() => null)
      if (scan !== null) return scan
      const drawn = tools.pdftoppm === null ? null : await byProgram(tools.pdftoppm, dpi, number).catch(() => null)
      return drawn ?? (await byDrawing(number, dpi))
    },
  }
}

/** Whether all that the page shows is one picture, upright and as large as the page. */
async function isScan(page: PdfPage): Promise<boolean> {
  if (page.rotate !== 0) return false
  const { OPS } = await getResolvedPDFJS()
  const { fnArray, argsArray } = await page.getOperatorList()
  const [left, bottom, right, top] = page.view as [number, number, number, number]
  const stack: Matrix[] = []
  let matrix: Matrix = [1, 0, 0, 1, 0, 0]
  let found = false
  for (const [index, operator] of fnArray.entries()) {
    if (operator === OPS.save) stack.push(matrix)
    else if (operator === OPS.restore) matrix = stack.pop() ?? matrix
    else if (operator === OPS.transform) matrix = times(matrix, argsArray[index] as Matrix)
    else if (operator === OPS.paintFormXObjectBegin) return false
    else if (operator === OPS.paintImageXObject) {
      const [width, slantX, slantY, height] = matrix
      const isUpright = slantX === 0 && slantY === 0 && width > 0 && height > 0
      if (found || !isUpright || width * height < coversAtLeast * (right - left) * (top - bottom)) return false
      found = true
    }
  }
  return found
}

type Matrix = readonly [number, number, number, number, number, number]

function times([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix): Matrix {
  return [a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * l + e, b * k + d * l + f]
}

/** As asked for, or what a page of this size allows. */
function dpiOf(page: PdfPage, wanted: number): number {
  const { width, height } = page.getViewport({ scale: 1 / pointsPerInch })
  return Math.floor(Math.min(wanted, Math.sqrt(documentLimits.pixels / Math.max(width * height, 0.01))))
}

/** Null: the canvas has no build for this machine, or was left out. */
async function openDrawable(path: string): Promise<Pdf | null> {
  const factory = await createIsomorphicCanvasFactory(() => import('@napi-rs/canvas')).catch(() => null)
  if (factory === null) return null
  const bytes = new Uint8Array(await readFile(path))
  return getDocumentProxy(bytes, { CanvasFactory: factory, maxImageSize: documentLimits.pixels, verbosity: 0 })
}

async function writePgm(
  path: string,
  width: number,
  height: number,
  data: Uint8ClampedArray,
  channels: number,
): Promise<void> {
  const grey = Buffer.allocUnsafe(width * height)
  if (channels === 1) grey.set(data)
  else {
    for (let at = 0, from = 0; at < grey.length; at += 1, from += channels)
      grey[at] = (data[from]! * 77 + data[from + 1]! * 150 + data[from + 2]! * 29) >> 8
  }
  await writeFile(path, Buffer.concat([Buffer.from(`P5\n${width} ${height}\n255\n`), grey]))
}
