import { convert } from 'html-to-text'
import { Liquid } from 'liquidjs'

/** What an email says, rendered. */
export interface EmailContent {
  readonly subject: string
  readonly text: string
  readonly html: string | null
}

/** The same three, in Liquid. */
export type EmailTexts = EmailContent

/** Variables come from callers and templates from tenants: neither reaches a file or a prototype, and no loop runs away. */
const engine = {
  strictVariables: true,
  strictFilters: true,
  lenientIf: true,
  ownPropertyOnly: true,
  templates: {},
  parseLimit: 1_000_000,
  renderLimit: 1_000,
  memoryLimit: 10_000_000,
}
const inText = new Liquid(engine)
const inHtml = new Liquid({ ...engine, outputEscape: 'escape' })

/** A template with its variables filled in: escaped in HTML, as they are in text and subject. Throws what the template cannot do. */
export function renderEmailTemplate(
  { subject, text, html }: EmailTexts,
  variables: Readonly<Record<string, unknown>>,
): EmailContent {
  const htmlPart = html === null ? null : inHtml.parseAndRenderSync(html, variables)
  const textPart = inText.parseAndRenderSync(text, variables)
  return {
    subject: oneLine(inText.parseAndRenderSync(subject, variables)),
    text: textPart.trim() === '' && htmlPart !== null ? textOfHtml(htmlPart) : textPart,
    html: htmlPart,
  }
}

export type CheckedTemplate =
  | { readonly ok: true; readonly requiredVariables: readonly string[] }
  | { readonly ok: false; readonly field: keyof EmailTexts; readonly message: string }

/** Whether each text is Liquid, and the variables without which the template cannot be rendered. */
export function checkEmailTemplate(texts: EmailTexts): CheckedTemplate {
  const segments: string[][] = []
  for (const field of ['subject', 'text', 'html'] as const) {
    try {
      segments.push(...(inText.globalVariableSegmentsSync(texts[field] ?? '') as string[][]))
    } catch (error) {
      return { ok: false, field, message: (error as Error).message }
    }
  }
  const names = [...new Set(segments.map(([name]) => name!))].toSorted()
  return { ok: true, requiredVariables: names.filter((name) => !canDoWithout(texts, name, segments)) }
}

/** A part in HTML as a person would write it in plain text. */
export function textOfHtml(html: string): string {
  return convert(html, { wordwrap: 78, limits: { maxInputLength: 1_000_000 } })
}

/** A variable behind `if` or `default` is not needed: tried with all the others at hand. */
function canDoWithout(texts: EmailTexts, left: string, segments: readonly string[][]): boolean {
  try {
    renderEmailTemplate(texts, blanks(segments.filter(([name]) => name !== left)))
    return true
  } catch {
    return false
  }
}

/** An object in which every path is there. */
function blanks(paths: readonly string[][]): Record<string, unknown> {
  const root: Record<string, unknown> = {}
  for (const path of paths) {
    let at = root
    for (const step of path) {
      if (!Object.hasOwn(at, step)) Object.defineProperty(at, step, { value: {}, enumerable: true })
      at = at[step] as Record<string, unknown>
    }
  }
  return root
}

function oneLine(subject: string): string {
  return subject.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}
