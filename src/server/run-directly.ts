import { execute } from '@graphql-tools/executor'
import { getOperationAST, validate, type DocumentNode, type ExecutionArgs } from 'graphql'
import type { Call, Outcome } from './call.ts'
import { headersOf, maskOutcome, statusOf, type HttpCall, type OperationDeps } from './yoga.ts'

/** What goes out, as JSON. */
interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Answers a body with one query or mutation that wants JSON; null: it is for yoga, which also says what is wrong with it. */
export type RunDirectly = (body: string, call: HttpCall) => Promise<Answer | null>

interface Params {
  readonly query: string
  readonly variables?: Record<string, unknown> | null
  readonly operationName?: string | null
}

/**
 * The way of most calls, in front of yoga: its Fetch requests and responses and its hooks cost 300 us a call, the work itself 100.
 * Gate, account, context, executor and mask are those of the other doors; GraphQL's own `execute` makes an AbortController and several
 * WeakMaps a call, a fifth of it all. What cannot be run goes the long way, so that there is one who says what is wrong with it.
 */
export function createRunDirectly(deps: OperationDeps): RunDirectly {
  const { schema, contextFor, authenticate, admit, begin, maskError } = deps
  const valid = new WeakSet<DocumentNode>()

  const isValid = (document: DocumentNode): boolean => {
    if (valid.has(document)) return true
    if (validate(schema, document).length > 0) return false
    valid.add(document)
    return true
  }

  /** Null: it is nothing for here. */
  const argsOf = ({ query, variables, operationName }: Params, call: Call): ExecutionArgs | null => {
    const document = admit(query, call.caller)
    const operation = getOperationAST(document, operationName)
    if (operation == null || operation.operation === 'subscription' || !isValid(document)) return null
    return { schema, document, contextValue: contextFor(call), variableValues: variables, operationName }
  }

  const run = async (args: ExecutionArgs, call: Call): Promise<Outcome> => {
    const { refusal, end } = begin(args, call)
    const outcome = refusal === null ? ((await execute(args)) as Outcome) : { errors: [refusal] }
    end((outcome.errors?.length ?? 0) > 0)
    return outcome
  }

  return async (body, call) => {
    const params = readParams(body)
    if (params === null) return null
    let outcome: Outcome
    try {
      call.caller = await authenticate(call.authorization)
      const args = argsOf(params, call)
      if (args === null) return null
      outcome = maskOutcome(await run(args, call), maskError, call)
    } catch (error) {
      outcome = { errors: [maskError(error, call)] }
    }
    return { status: statusOf(outcome), headers: headersOf(outcome), text: JSON.stringify(outcome) }
  }
}

const known: ReadonlySet<string> = new Set(['query', 'variables', 'operationName', 'extensions'])

/** Null where anything is unusual. */
function readParams(body: string): Params | null {
  let params: unknown
  try {
    params = JSON.parse(body)
  } catch {
    return null
  }
  if (!isObject(params) || !Object.keys(params).every((key) => known.has(key))) return null
  const { query, variables, operationName, extensions } = params
  const good =
    typeof query === 'string' &&
    (variables == null || isObject(variables)) &&
    (operationName == null || typeof operationName === 'string') &&
    (extensions == null || isObject(extensions))
  return good ? (params as unknown as Params) : null
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
