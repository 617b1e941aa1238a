/** What a title can be derived from. */
export interface TitleHints {
  /** The title in the file's own metadata. */
  readonly metadata: string | null
  /** The lines of the first page from above; `height` in any one unit, 0: not known. */
  readonly lines: readonly { readonly text: string; readonly height: number }[]
}

export interface DerivedTitle {
  readonly title: string
  readonly source: 'metadata' | 'content' | 'filename'
}

const longest = 200
const linesLookedAt = 40

const keyword =
  /\b(?:rechnung|gutschrift|angebot|auftrag(?:sbestätigung)?|lieferschein|bestellung|mahnung|zahlungserinnerung|vertrag|\p{L}+vertrag|kündigung|bescheid|\p{L}+bescheid|kontoauszug|quittung|protokoll|bericht|vollmacht|versicherungsschein|zeugnis|bescheinigung|invoice|credit note|quotation|quote|order|delivery note|contract|agreement|receipt|statement|report|minutes|reminder|certificate|notice)\b/iu
const salutation =
  /^(?:sehr geehrte|liebe[rs]?\b|hallo|guten tag|dear\b|hello\b|hi\b|to whom|mit freundlichen|viele grüße|kind regards|best regards|yours)/iu
const address =
  /(?:\b\d{4,5}\s+\p{Lu}\p{L}+|(?:straße|strasse|str\.|weg|platz|allee|gasse|street|road|avenue)\s*\d+|\b(?:tel|telefon|fax|phone|e-?mail|iban|bic|ust-?id\w*|www)\b|@|https?:)/iu
const dateAlone =
  /^(?:\p{L}+,?\s+(?:den\s+)?)?(?:\d{1,2}[./-]\s?\d{1,2}[./-]\s?\d{2,4}|\d{4}-\d{2}-\d{2}|\d{1,2}\.?\s+\p{L}{3,9}\.?\s+\d{4}|\p{L}{3,9}\s+\d{1,2},\s+\d{4})$/iu
const junk =
  /^(?:microsoft (?:word|powerpoint|excel|office)\b.*|(?:scan|scanned|img|image|document|dokument|untitled|unbenannt|unbekannt|new document|neues dokument|print|druck|titel|title)[\s\d_.()-]*|scan.*|.*\.(?:docx?|xlsx?|pptx?|odt|ods|pdf|jpe?g|png|tiff?|indd|qxd|rtf|txt|html?|tex|dvi)|[\d\s_.:-]+|[0-9a-f]{8}-?[0-9a-f-]{4,})$/iu

/** A title for people: from the metadata unless that is rubbish, else the first page's best line, else the file's name. */
export function deriveTitle({ metadata, lines }: TitleHints, filename: string): DerivedTitle {
  const own = tidy(metadata ?? '')
  if (own.length >= 3 && !junk.test(own)) return { title: cut(own), source: 'metadata' }
  const line = bestLine(lines)
  if (line !== null) return { title: cut(line), source: 'content' }
  return { title: cut(titleOfName(filename)), source: 'filename' }
}

function bestLine(all: TitleHints['lines']): string | null {
  const lines = all.map(({ text, height }) => ({ text: tidy(text), height })).filter(({ text }) => text !== '')
  const heights = lines.map(({ height }) => height).filter((height) => height > 0)
  const usual = heights.toSorted((a, b) => a - b)[Math.floor(heights.length / 2)] ?? 0
  let best: { readonly text: string; readonly score: number } | null = null
  lines.slice(0, linesLookedAt).forEach(({ text, height }, depth) => {
    const score = scoreOf(text, usual > 0 && height > 0 ? height / usual : 1) - depth * 0.05
    if (score >= 1 && (best === null || score > best.score)) best = { text, score }
  })
  return (best as { readonly text: string } | null)?.text ?? null
}

/** How much a line looks like a title: a word that titles have, a number, a larger type; not an address, a date or a greeting. */
function scoreOf(text: string, relativeHeight: number): number {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  if (text.length < 4 || text.length > 120 || letters < 3 || letters < text.length / 3) return -1
  const words = text.split(' ').length
  return (
    (keyword.test(text) ? 2 : 0) +
    (/\d{3,}/.test(text) ? 0.5 : 0) +
    Math.min(Math.max(relativeHeight - 1, 0) * 2, 2) -
    (salutation.test(text) ? 4 : 0) -
    (address.test(text) ? 2 : 0) -
    (dateAlone.test(text) ? 3 : 0) -
    (words > 12 || /[.;,]$/.test(text) ? 1.5 : 0)
  )
}

/** `Scan_Miet-vertrag_2024.pdf` as a person would write it. */
function titleOfName(filename: string): string {
  const bare = tidy(
    filename
      .replace(/\.[\p{L}\d]{1,5}$/u, '')
      .replaceAll(/[_+]+|(?<!\d)-|-(?!\d)/g, ' ')
      .replace(/^(?:scan|img|document|dokument)\b[\s\d]*(?=\p{L})/iu, ''),
  )
  return bare === '' ? tidy(filename) || 'Document' : bare
}

function tidy(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function cut(text: string): string {
  return text.length <= longest ? text : `${[...text].slice(0, longest - 1).join('')}…`
}
