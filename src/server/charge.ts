import { getOperationAST, type ExecutionArgs, type OperationDefinitionNode } from 'graphql'
import { ApiError } from '../resolvers/api-error.ts'
import type { Budget } from '../resolvers/context.ts'
import type { ChargeBudget } from './budgets.ts'
import type { Call } from './call.ts'
import { priceOperation, type OperationCost } from './operation-cost.ts'

/** Puts an operation's cost on the bill of its caller; throws an ApiError where it is too dear, or more than is left. */
export type ChargeOperation = (args: ExecutionArgs, call: Call) => void

const mostPoints = 5_000

/** The one till of HTTP, SSE and WebSocket. A document is priced once, its variables are counted each time. */
export function createCharge(chargeBudget: ChargeBudget): ChargeOperation {
  const known = new WeakMap<OperationDefinitionNode, OperationCost>()

  return ({ schema, document, operationName, variableValues }, call) => {
    const definition = getOperationAST(document, operationName)
    if (definition == null) return
    let price = known.get(definition)
    if (price === undefined) known.set(definition, (price = priceOperation(schema, document, definition)))
    const cost = price(variableValues ?? {})
    call.cost = cost
    if (cost > mostPoints) throw tooDear(cost, mostPoints)
    const { budget, refused } = chargeBudget(call.caller, cost)
    call.budget = budget
    if (refused === null) return
    throw refused === 'never' ? tooDear(cost, budget.limit) : usedUp(cost, budget, refused.retryAfterSeconds)
  }
}

const tooDear = (cost: number, limit: number): ApiError =>
  new ApiError(
    'COST_LIMIT_EXCEEDED',
    `The operation costs ${cost} points, and may cost ${limit}. Ask for fewer items at once (\`first\`), or for less of each.`,
    { cost, limit },
  )

const usedUp = (cost: number, { remaining, perSecond }: Budget, retryAfter: number): ApiError =>
  new ApiError(
    'RATE_LIMITED',
    `The operation costs ${cost} points, and ${remaining} are left; ${perSecond} come back each second. Try again in ${retryAfter} s.`,
    { retryAfter, cost },
  )

/** The headers that tell a caller's budget (draft-ietf-httpapi-ratelimit-headers); empty where there is none. */
export function budgetHeaders({ budget }: Call): Readonly<Record<string, string>> {
  if (budget === null) return {}
  const { limit, remaining, perSecond } = budget
  const seconds = (points: number): number => Math.ceil(points / perSecond)
  return {
    'ratelimit-policy': `"points";q=${limit};w=${seconds(limit)}`,
    ratelimit: `"points";r=${remaining};t=${seconds(limit - remaining)}`,
  }
}
