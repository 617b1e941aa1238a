import { readFile } from 'node:fs/promises'
import { getDocumentProxy, getResolvedPDFJS } from 'unpdf'
import { DocumentError } from '../../../jobs/document-error.ts'
import { documentLimits } from '../../../jobs/document-limits.ts'
import { createOcr, notRecognized, type Ocr } from './ocr.ts'
import { createPagePictures, type PagePictures } from './page-pictures.ts'
import type { Pdf, PdfPage } from './pdf.ts'
import type { ReadPage, Reading, ReadingOrder } from './reader-protocol.ts'

interface Line {
  text: string
  height: number
}

/** Text as it stands in a PDF; pages that have none are recognised as pictures, as many as the terms allow. */
export async function readPdf(order: ReadingOrder, onPage: (done: number, total: number) => void): Promise<Reading> {
  const pdf = await openPdf(new Uint8Array(await readFile(order.path)))
  const total = pdf.numPages
  if (total > documentLimits.pages)
    throw new DocumentError(
      'too_large',
      `The PDF has ${total} pages; at most ${documentLimits.pages} are read. Split it and store the parts.`,
    )
  const ocr = createOcr(order.tools, order.folder)
  const pictures = createPagePictures(order)
  const pages: ReadPage[] = []
  let [lines, recognized, broken]: [Line[], number, number] = [[], 0, 0]
  for (let number = 1; number <= total; number += 1) {
    onPage(number - 1, total)
    const found = await linesOf(pdf, number).catch(() => null)
    if (found === null) broken += 1
    const text = (found?.lines ?? []).map((line) => line.text).join('\n')
    const mayRecognize = recognized < order.terms.ocrPages
    const page = isEnough(text)
      ? { text, engine: 'unpdf', confidence: null, note: null }
      : found === null
        ? { text: '', engine: null, confidence: null, note: 'The page is damaged.' }
        : mayRecognize
          ? await recognizePage(pdf, found.page, number, text, ocr, pictures)
          : tooMany(text, order.terms.ocrPages)
    if (page.engine === ocr.name) recognized += 1
    if (number === 1)
      lines = page.engine === 'unpdf' ? found!.lines : page.text.split('\n').map((line) => ({ text: line, height: 0 }))
    pages.push(page)
  }
  onPage(total, total)
  if (broken === total) throw corrupt('none of its pages can be read')
  return {
    pages,
    titleHints: { metadata: await metadataTitle(pdf), lines: lines.slice(0, 100) },
    engineVersion: await versions(pages, ocr),
  }
}

async function openPdf(bytes: Uint8Array): Promise<Pdf> {
  try {
    return await getDocumentProxy(bytes, { maxImageSize: documentLimits.pixels, verbosity: 0 })
  } catch (error) {
    const { name, message } = error as Error
    if (name === 'PasswordException')
      throw new DocumentError('encrypted_document', 'The PDF is protected by a password. Store it without one.', {
        cause: error,
      })
    throw corrupt(message.replace(/\.$/, ''), error)
  }
}

function corrupt(why: string, cause?: unknown): DocumentError {
  return new DocumentError(
    'corrupt_document',
    `The PDF is damaged: ${why}. Make it anew from its source and store it again.`,
    { cause },
  )
}

/** The lines of a page, each as high as its highest text. */
async function linesOf(pdf: Pdf, number: number): Promise<{ readonly page: PdfPage; readonly lines: Line[] }> {
  const page = await pdf.getPage(number)
  const { items } = await page.getTextContent()
  const lines: Line[] = []
  let line: Line = { text: '', height: 0 }
  for (const item of items) {
    if (!('str' in item)) continue
    line.text += item.str
    if (item.str.trim() !== '') line.height = Math.max(line.height, item.height)
    if (!item.hasEOL) continue
    lines.push(line)
    line = { text: '', height: 0 }
  }
  return { page, lines: [...lines, line] }
}

function isEnough(text: string): boolean {
  return text.replaceAll(/\s/g, '').length >= documentLimits.fewestCharacters
}

async function recognizePage(
  pdf: Pdf,
  page: PdfPage,
  number: number,
  text: string,
  ocr: Ocr,
  pictures: PagePictures,
): Promise<ReadPage> {
  try {
    const picture = await pictures.of(pdf, page, number)
    if (picture === null)
      return {
        text,
        engine: text.trim() === '' ? null : 'unpdf',
        confidence: null,
        note: 'There is nothing that could draw this page.',
      }
    const found = await ocr.recognize(picture.path, picture.dpi)
    // A page number or a stamp on an empty page is text all the same.
    const useless = found.text.trim().length < text.trim().length
    return { ...found, text: useless ? text : found.text, engine: ocr.name, note: null }
  } catch (error) {
    return {
      text,
      engine: null,
      confidence: null,
      note: `The page could not be recognised: ${(error as Error).message}`,
    }
  }
}

function tooMany(text: string, most: number): ReadPage {
  return { text, engine: text.trim() === '' ? null : 'unpdf', confidence: null, note: notRecognized(most) }
}

async function metadataTitle(pdf: Pdf): Promise<string | null> {
  const { info } = await pdf.getMetadata().catch(() => ({ info: {} }))
  const { Title: title } = info as { Title?: unknown }
  return typeof title === 'string' && title.trim() !== '' ? title.slice(0, 500) : null
}

async function versions(pages: readonly ReadPage[], ocr: Ocr): Promise<string> {
  const used = new Set(pages.map(({ engine }) => engine))
  const pdfjs = (await getResolvedPDFJS()).version
  return [...(used.has(ocr.name) ? [`${ocr.name} ${ocr.version}`] : []), `pdf.js ${pdfjs}`].join(', ')
}
