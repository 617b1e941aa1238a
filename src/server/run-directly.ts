import { execute } from '@graphql-tools/executor'
import { getOperationAST, validate, type DocumentNode, type ExecutionArgs, type OperationDefinitionNode } from 'graphql'
import type { Call, Outcome } from './call.ts'
import { compileVariables, type CoercedOperation } from './coerce-variables.ts'
import { compileOperation, type RunOperation } from './compile-operation.ts'
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
 * Gate, account, context and mask are those of the other doors; so is the executor of what cannot be compiled. What cannot be run goes
 * the long way, so that there is one who says what is wrong with it.
 */
export function createRunDirectly(deps: OperationDeps): RunDirectly {
  const { schema, contextFor, authenticate, admit, begin, maskError } = deps
  const plans = new WeakMap<OperationDefinitionNode, Plan>()

  /** Undefined: the document is not valid. */
  const planOf = (document: DocumentNode, operation: OperationDefinitionNode): Plan | undefined => {
    let plan = plans.get(operation)
    if (plan !== undefined) return plan
    if (validate(schema, document).length > 0) return undefined
    const coerced = compileVariables(schema, document, operation)
    plan = { coerced, run: coerced === null ? null : compileOperation(schema, document, operation) }
    plans.set(operation, plan)
    return plan
  }

  /** Null: it is nothing for here. */
  const prepare = ({ query, variables, operationName }: Params, call: Call): Prepared | null => {
    const document = admit(query, call.caller)
    const operation = getOperationAST(document, operationName)
    if (operation == null || operation.operation === 'subscription') return null
    const plan = planOf(document, operation)
    if (plan === undefined) return null
    return {
      plan,
      args: { schema, document, contextValue: contextFor(call), variableValues: variables, operationName },
    }
  }

  return async (body, call) => {
    const params = readParams(body)
    if (params === null) return null
    let outcome: Outcome
    try {
      call.caller = await authenticate(call.authorization)
      const prepared = prepare(params, call)
      if (prepared === null) return null
      const { refusal, end } = begin(prepared.args, call)
      const result = refusal === null ? await outcomeOf(prepared) : { errors: [refusal] }
      end((result.errors?.length ?? 0) > 0)
      outcome = maskOutcome(result, maskError, call)
    } catch (error) {
      outcome = { errors: [maskError(error, call)] }
    }
    return { status: statusOf(outcome), headers: headersOf(outcome), text: JSON.stringify(outcome) }
  }
}

interface Plan {
  /** Null: the general executor coerces its variables itself. */
  readonly coerced: CoercedOperation | null
  /** Null: it is for the general executor. */
  readonly run: RunOperation | null
}

interface Prepared {
  readonly plan: Plan
  readonly args: ExecutionArgs
}

/** What is wrong with variables says the general executor, too. */
function outcomeOf({ plan: { coerced, run }, args }: Prepared): Promise<Outcome> | Outcome {
  const variableValues = coerced === null ? null : coerced.coerce(args.variableValues ?? {})
  if (coerced === null || variableValues === null) return execute(args) as Promise<Outcome>
  if (run !== null) return run(variableValues, args.contextValue)
  return execute({ ...args, document: coerced.document, variableValues }) as Promise<Outcome>
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
