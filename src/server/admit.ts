import { GraphQLError, parse, type DocumentNode } from 'graphql'
import type { Caller } from '../jobs/permissions.ts'
import { measureDocument, type DocumentMeasure } from './measure-document.ts'

/**
 * Lets an operation in, or throws a GraphQLError that says why not. The one gate of HTTP, SSE and WebSocket,
 * and the place where a document is parsed: nothing gets past it.
 */
export type Admit = (query: string, caller: Caller | null) => DocumentNode

interface Limit {
  readonly of: keyof DocumentMeasure
  readonly most: number
  readonly what: string
}

/** What one document may hold. */
const mostTokens = 2_000
const limits: readonly Limit[] = [
  { of: 'depth', most: 10, what: 'levels of fields' },
  { of: 'introspectionDepth', most: 16, what: 'levels of fields in introspection' },
  { of: 'rootFields', most: 20, what: 'fields at its root' },
  { of: 'aliases', most: 30, what: 'aliases' },
  { of: 'directives', most: 20, what: 'directives' },
  { of: 'fields', most: 500, what: 'fields, its fragments filled in' },
]
const mostDocuments = 1_000

/** What is known of a document is kept; what depends on the caller is asked each time. */
export function createAdmit(): Admit {
  const known = new Map<string, { readonly document: DocumentNode; readonly introspects: boolean }>()

  const read = (query: string) => {
    const kept = known.get(query)
    if (kept !== undefined) return kept
    const document = parseWithin(query)
    const measure = measureDocument(document)
    refuseAbove(measure)
    const entry = { document, introspects: measure.introspectionDepth > 0 }
    if (known.size >= mostDocuments) known.delete(known.keys().next().value!)
    known.set(query, entry)
    return entry
  }

  return (query, caller) => {
    const { document, introspects } = read(query)
    if (introspects && caller === null) {
      throw refusal(
        'UNAUTHENTICATED',
        'Introspection is for signed-in callers. Send a token as `authorization: Bearer <token>`.',
      )
    }
    return document
  }
}

function parseWithin(query: string): DocumentNode {
  try {
    return parse(query, { maxTokens: mostTokens })
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error
    if (/more tha[nt] \d+ tokens/.test(error.message)) {
      throw refusal(
        'GRAPHQL_PARSE_FAILED',
        `The document holds more than ${mostTokens} tokens. Split it, or pass values as variables.`,
      )
    }
    throw new GraphQLError(error.message, {
      source: error.source,
      positions: error.positions,
      extensions: { code: 'GRAPHQL_PARSE_FAILED' },
    })
  }
}

function refuseAbove(measure: DocumentMeasure): void {
  for (const { of, most, what } of limits) {
    if (measure[of] > most) {
      throw refusal('GRAPHQL_VALIDATION_FAILED', `The document holds more than ${most} ${what}. Ask for less at once.`)
    }
  }
}

const refusal = (code: string, message: string): GraphQLError => new GraphQLError(message, { extensions: { code } })
