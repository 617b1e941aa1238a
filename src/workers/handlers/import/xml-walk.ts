import sax from 'sax'
import { FileRefused } from '../../../jobs/import-errors.ts'

/** XML as it comes. */
export type XmlPart = AsyncIterable<string>

export function brokenWorkbook(why: string): FileRefused {
  return new FileRefused(
    'bad_workbook',
    `The workbook cannot be read: ${why}. Open it in a spreadsheet and save it anew as .xlsx.`,
  )
}

interface XmlHandler {
  open?(name: string, attributes: Readonly<Record<string, string>>): void
  text?(text: string): void
  close?(name: string): void
}

/** Walks through XML; names come without their namespace. Entities that the document defines itself are not known, so that none can grow. */
export async function* walkXml(xml: XmlPart, { open, text, close }: XmlHandler): AsyncGenerator<void> {
  const parser = sax.parser(true, { position: false })
  const local = (name: string): string => name.slice(name.indexOf(':') + 1)
  let failure: Error | undefined
  parser.onopentag = ({ name, attributes }) => open?.(local(name), attributes as Record<string, string>)
  parser.ontext = (part) => text?.(part)
  parser.oncdata = (part) => text?.(part)
  parser.onclosetag = (name) => close?.(local(name))
  parser.ondoctype = () => (failure = brokenWorkbook('it defines a document type'))
  parser.onerror = () => {
    failure ??= brokenWorkbook('it is no well-formed XML')
    parser.error = null as unknown as Error
  }
  for await (const chunk of xml) {
    parser.write(chunk)
    if (failure !== undefined) throw failure
    yield
  }
  parser.close()
  if (failure !== undefined) throw failure
}

/** The same in one go. */
export async function readXml(xml: XmlPart, handler: XmlHandler): Promise<void> {
  for await (const _ of walkXml(xml, handler));
}
