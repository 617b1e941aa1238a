import { execute } from '@graphql-tools/executor'
import { getOperationAST, validate, type DocumentNode, type ExecutionArgs, type OperationDefinitionNode } from 'graphql'
import type { Call, Outcome } from './call.ts'
import { compileVariables, type CoercedOperation } from './coerce-variables.ts'
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
 * Gate, account, context, executor and mask are those of the other doors. What cannot be run goes the long way, so that there is one
 * who says what is wrong with it.
 */
export function createRunDirectly(deps: OperationDeps): RunDirectly {
  const { schema, contextFor, authenticate, admit, begin, maskError } = deps
  /** Null: the executor coerces its variables itself. */
  const plans = new WeakMap<OperationDefinitionNode, CoercedOperation | null>()

  /** Undefined: the document is not valid. */
  const planOf = (document: DocumentNode, operation: OperationDefinitionNode): CoercedOperation | null | undefined => {
    let plan = plans.get(operation)
    if (plan !== undefined) return plan
    if (validate(schema, document).length > 0) return undefined
    plan = compileVariables(schema, document, operation)
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

  const run = async ({ plan, args }: Prepared, call: Call): Promise<Outcome> => {
    const { refusal, end } = begin(args, call)
    const outcome = refusal === null ? await outcomeOf(plan, args) : { errors: [refusal] }
    end((outcome.errors?.length ?? 0) > 0)
    return outcome
  }

  return async (body, call) => {
    const params = readParams(body)
    if (params === null) return null
    let outcome: Outcome
    try {
      call.caller = await authenticate(call.authorization)
      const prepared = prepare(params, call)
      if (prepared === null) return null
      outcome = maskOutcome(await run(prepared, call), maskError, call)
    } catch (error) {
      outcome = { errors: [maskError(error, call)] }
    }
    return { status: statusOf(outcome), headers: headersOf(outcome), text: JSON.stringify(outcome) }
  }
}

interface Prepared {
  readonly plan: CoercedOperation | null
  readonly args: ExecutionArgs
}

/** What is wrong with variables says the executor, too. */
async function outcomeOf(plan: CoercedOperation | null, args: ExecutionArgs): Promise<Outcome> {
  const variableValues = plan === null ? null : plan.coerce(args.variableValues ?? {})
  const ready = plan === null || variableValues === null ? args : { ...args, document: plan.document, variableValues }
  return (await execute(ready)) as Outcome
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
