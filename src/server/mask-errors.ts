// The part alone: this is loaded where no GraphQL is served, too.
import { GraphQLError } from 'graphql/error'
import { DatabaseUnavailable, StellwerkError } from '../jobs/errors.ts'
import { ApiError } from '../resolvers/api-error.ts'
import { databaseFault, wasCutOff } from '../jobs/database-fault.ts'

/** What stands in `extensions.code`, and the HTTP status that goes with it (PROMISES, top-level errors). */
export const statusOfCode = {
  UNAUTHENTICATED: 401,
  TOKEN_EXPIRED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  BAD_USER_INPUT: 400,
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  COST_LIMIT_EXCEEDED: 400,
  RATE_LIMITED: 429,
  SERVICE_UNAVAILABLE: 503,
  INTERNAL_SERVER_ERROR: 500,
} as const

type Code = keyof typeof statusOfCode

/** Turns any error into one that may leave the house. */
export type MaskError = (
  error: unknown,
  call: { readonly requestId: string; readonly mutates: boolean },
) => GraphQLError

interface MaskDeps {
  /** Whether a message may name what the caller perhaps meant. */
  readonly suggestions: boolean
  /** Told of each error that nobody foresaw, with the id under which the caller sees it. */
  readonly onUnforeseen: (error: unknown, requestId: string) => void
}

interface Shown {
  readonly code: Code
  readonly message: string
  readonly extensions?: Readonly<Record<string, unknown>>
}

const hidden: Shown = {
  code: 'INTERNAL_SERVER_ERROR',
  message: 'Something went wrong that was not foreseen. It is in the log under the request id.',
}

/** Allow-listed codes pass with their sentence; of everything else only the request id leaves: no SQL, host, path or value. */
export function createMaskError({ suggestions, onUnforeseen }: MaskDeps): MaskError {
  return (error, { requestId, mutates }) => {
    const shown = show(error, mutates)
    if (shown === hidden) onUnforeseen(causeOf(error), requestId)
    const isGraphQLs = causeOf(error) instanceof GraphQLError
    const message = suggestions || !isGraphQLs ? shown.message : shown.message.replace(/ ?Did you mean [\s\S]*\?/, '')
    const located = error instanceof GraphQLError ? error : undefined
    return new GraphQLError(message, {
      nodes: located?.nodes,
      source: located?.source,
      positions: located?.positions,
      path: located?.path,
      extensions: { ...shown.extensions, code: shown.code, requestId },
    })
  }
}

function show(error: unknown, mutates: boolean): Shown {
  const cause = causeOf(error)
  if (cause instanceof ApiError) return { code: cause.code, message: cause.message, extensions: cause.extensions }
  if (cause instanceof DatabaseUnavailable) return databaseAway(cause.message, cause.outcomeUnknown)
  if (cause instanceof StellwerkError) return isCode(cause.code) ? { code: cause.code, message: cause.message } : hidden
  if (databaseFault(cause) === 'unavailable')
    return databaseAway(new DatabaseUnavailable().message, mutates && wasCutOff(cause))
  return cause instanceof GraphQLError ? showGraphQL(cause) : hidden
}

const databaseAway = (message: string, outcomeUnknown: boolean): Shown => ({
  code: 'SERVICE_UNAVAILABLE',
  message: outcomeUnknown ? `${message} Whether the change was made is unknown.` : message,
  ...(outcomeUnknown ? { extensions: { outcome: 'unknown' } } : {}),
})

/** What GraphQL itself found: it speaks of the caller's document and variables, never of ours. */
function showGraphQL(error: GraphQLError): Shown {
  const code = error.extensions['code']
  if (code === 'GRAPHQL_PARSE_FAILED') return { code, message: error.message }
  if (isCode(code)) return { code, message: withoutValues(error) }
  // Codes of the HTTP layer: a body that is no JSON, a batch.
  if (code === 'BAD_REQUEST') return { code: 'BAD_USER_INPUT', message: error.message }
  // An error with a path was met while executing; of those only coercion's speaks of the caller's input.
  if (error.path === undefined || isCoercion(error)) return { code: 'BAD_USER_INPUT', message: withoutValues(error) }
  return hidden
}

/** Coercion quotes what it refuses, which may be a secret: the place is named, the value is not. */
function withoutValues(error: Error): string {
  const { message } = error
  const inner = innerOf(error)
  if (inner !== undefined && / got invalid value /.test(message)) {
    const [, variable] = /^(Variable "\$\w+")/.exec(message) ?? []
    const [, path] = / at "([^"]*)"$/.exec(message.slice(0, -`; ${inner.message}`.length)) ?? []
    return `${variable ?? 'The value'} is not valid${path === undefined ? '' : ` at "${path}"`}: ${withoutValues(inner)}`
  }
  return message
    .replace(/Value "[\s\S]*" does not exist in/, 'The value does not exist in')
    .replace(/(cannot represent[^:]*): [\s\S]*$/, '$1.')
    .replace(/(\?)?[,;]? found:? [\s\S]*$/i, (_, question: string | undefined) => question ?? '.')
}

const isCode = (code: unknown): code is Code => typeof code === 'string' && Object.hasOwn(statusOfCode, code)

/** GraphQL wraps what a resolver threw, sometimes more than once; the sentence around a coercion's cause names the place. */
function causeOf(error: unknown): unknown {
  if (!(error instanceof GraphQLError) || isCoercion(error)) return error
  const inner = innerOf(error)
  return inner === undefined ? error : causeOf(inner)
}

const isCoercion = ({ message }: GraphQLError): boolean => /^(Variable "\$|Argument ")/.test(message)

function innerOf(error: Error): Error | undefined {
  const inner = error.cause ?? (error instanceof GraphQLError ? error.originalError : undefined)
  return inner instanceof Error && inner !== error ? inner : undefined
}
