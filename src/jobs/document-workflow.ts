import { Liquid } from 'liquidjs'
import { z } from 'zod'
import { emailSendPayload } from './email-send-payload.ts'

/** What a workflow's condition can look at. */
export interface DocumentFacts {
  readonly id: string
  readonly title: string | null
  readonly filename: string
  readonly text: string
  readonly contentType: string
  readonly sizeBytes: number
  readonly pageCount: number | null
  readonly language: string | null
  /** Paths. */
  readonly terms: readonly string[]
}

const texts = ['title', 'filename', 'text', 'contentType', 'language'] as const
const numbers = ['sizeBytes', 'pageCount'] as const

const textTest = z.strictObject({
  field: z.enum(texts),
  /** Upper and lower case are the same. */
  op: z.enum(['equals', 'contains', 'startsWith', 'endsWith']),
  value: z.string().min(1).max(1_000),
})
const numberTest = z.strictObject({
  field: z.enum(numbers),
  op: z.enum(['equals', 'atLeast', 'lessThan']),
  value: z.number(),
})
const termTest = z.strictObject({
  field: z.literal('terms'),
  /** Has this term, or one below it. */
  op: z.literal('contains'),
  value: z.string().min(1).max(500),
})

/** A condition; without any key it always holds. */
export type DocumentCondition =
  | { readonly and: readonly DocumentCondition[] }
  | { readonly or: readonly DocumentCondition[] }
  | { readonly not: DocumentCondition }
  | z.output<typeof textTest>
  | z.output<typeof numberTest>
  | z.output<typeof termTest>
  | Record<string, never>

const parts = () => z.array(documentCondition).min(1).max(50)

/** No code and no regular expression: what is here is all that can be said. */
export const documentCondition: z.ZodType<DocumentCondition> = z.lazy(() =>
  z.union(
    [
      z.strictObject({ and: parts() }),
      z.strictObject({ or: parts() }),
      z.strictObject({ not: documentCondition }),
      textTest,
      numberTest,
      termTest,
      z.custom<Record<string, never>>(isEmptyObject, { abort: true }),
    ],
    {
      error:
        'must be {}, {"and": [...]}, {"or": [...]}, {"not": {...}} or {"field", "op", "value"}: title, filename, text, contentType, language with equals, contains, startsWith, endsWith; sizeBytes, pageCount with equals, atLeast, lessThan; terms with contains',
    },
  ),
) as z.ZodType<DocumentCondition>

const path = z.string().min(1).max(500)
const liquid = z
  .string()
  .min(1)
  .max(10_000)
  .refine(isLiquid, { error: 'must be Liquid', params: { keyword: 'format' } })

const { to, template, from, category } = emailSendPayload.shape

/** What a workflow does. Texts are Liquid with the variable `document`. */
export const documentAction = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('addTerm'), path }),
    z.strictObject({ type: z.literal('removeTerm'), path }),
    z.strictObject({ type: z.literal('setTitle'), title: liquid }),
    z.strictObject({
      type: z.literal('setField'),
      field: z.string().regex(/^[A-Za-z][A-Za-z0-9_.-]{0,62}$/),
      value: z.json(),
    }),
    z
      .strictObject({
        type: z.literal('sendEmail'),
        to,
        template,
        content: z.strictObject({ subject: liquid, text: liquid }).optional(),
        from,
        category: category.removeDefault().default('notification'),
      })
      .refine((email) => (email.template === undefined) !== (email.content === undefined), {
        error: 'exactly one of template and content is needed',
        params: { keyword: 'oneOf' },
      }),
    z.strictObject({
      type: z.literal('publishEvent'),
      eventType: z
        .string()
        .regex(/^[a-z0-9_]+(?:\.[a-z0-9_]+)*$/, 'must be of the form document.invoice')
        .max(100),
      payload: z.record(z.string(), z.json()).optional(),
    }),
    z.strictObject({ type: z.literal('reindex'), entityType: z.string().min(1).max(63) }),
  ],
  {
    error:
      'must be an object with the type addTerm, removeTerm, setTitle, setField, sendEmail, publishEvent or reindex and what belongs to it',
  },
)
export type DocumentAction = z.output<typeof documentAction>

/** Conditions and actions of a workflow, as they are stored. */
export const documentWorkflow = z.strictObject({
  conditions: documentCondition,
  actions: z.array(documentAction).min(1).max(20),
})

/** Whether a condition holds for a document. */
export function holds(condition: DocumentCondition, document: DocumentFacts): boolean {
  if ('and' in condition) return condition.and.every((part) => holds(part, document))
  if ('or' in condition) return condition.or.some((part) => holds(part, document))
  if ('not' in condition) return !holds(condition.not, document)
  if (!isTest(condition)) return true
  switch (condition.field) {
    case 'terms':
      return document.terms.some((term) => term === condition.value || term.startsWith(`${condition.value}/`))
    case 'sizeBytes':
    case 'pageCount':
      return comparesNumber(condition.op, document[condition.field], condition.value)
    default:
      return comparesText(condition.op, document[condition.field] ?? '', condition.value)
  }
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
}

type Test = z.output<typeof textTest> | z.output<typeof numberTest> | z.output<typeof termTest>

function isTest(condition: DocumentCondition): condition is Test {
  return 'field' in condition
}

function comparesText(op: z.output<typeof textTest>['op'], found: string, wanted: string): boolean {
  const [text, value] = [found.toLowerCase(), wanted.toLowerCase()]
  switch (op) {
    case 'equals':
      return text === value
    case 'contains':
      return text.includes(value)
    case 'startsWith':
      return text.startsWith(value)
    case 'endsWith':
      return text.endsWith(value)
  }
}

function comparesNumber(op: z.output<typeof numberTest>['op'], found: number | null, wanted: number): boolean {
  if (found === null) return false
  return op === 'equals' ? found === wanted : op === 'atLeast' ? found >= wanted : found < wanted
}

/** Templates come from tenants: no file, no prototype, no loop that runs away. */
const engine = new Liquid({
  ownPropertyOnly: true,
  templates: {},
  parseLimit: 100_000,
  renderLimit: 200,
  memoryLimit: 1_000_000,
})

/** A text of a workflow, filled in for a document. */
export function fillIn(
  text: string,
  { id, title, filename, contentType, pageCount, language, terms }: DocumentFacts,
): string {
  const document = { id: `document_${id}`, title, filename, contentType, pageCount, language, terms }
  return engine.parseAndRenderSync(text, { document }) as string
}

function isLiquid(text: string): boolean {
  try {
    engine.parse(text)
    return true
  } catch {
    return false
  }
}
