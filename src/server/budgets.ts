import { actorOf, type Caller } from '../jobs/permissions.ts'
import { createBuckets } from '../jobs/rate-limit.ts'
import type { Budget } from '../resolvers/context.ts'

/** Whether an operation may be paid for, and what is left; `budget` null: this caller has none to keep to. */
export type Charge =
  | { readonly budget: Budget | null; readonly refused: null }
  | { readonly budget: Budget; readonly refused: 'never' | { readonly retryAfterSeconds: number } }

/** Takes the cost of an operation from its caller's budget, or says why that cannot be. */
export type ChargeBudget = (caller: Caller | null, cost: number) => Charge

interface BudgetsDeps {
  /** Null: services have none, and with them the development token. */
  readonly serviceBudget: { readonly limit: number; readonly perSecond: number } | null
  readonly now?: () => number
}

const userBudget = { limit: 10_000, perSecond: 500 }
const sweepEvery = 10_000

/** A bucket for each principal, in this process: each instance gives budgets of its own. */
export function createBudgets({ serviceBudget, now = () => performance.now() }: BudgetsDeps): ChargeBudget {
  const buckets = createBuckets()
  let charges = 0

  return (caller, cost) => {
    const rule = caller === null ? null : caller.principal.kind === 'USER' ? userBudget : serviceBudget
    if (caller === null || rule === null) return { budget: null, refused: null }
    const key = actorOf(caller.principal)
    const limit = { rps: rule.perSecond, burst: rule.limit }
    const at = now()
    if (++charges % sweepEvery === 0) buckets.sweep(at)
    const budget = (): Budget => ({ ...rule, remaining: buckets.held(key, limit, at) })

    if (cost > rule.limit) return { budget: budget(), refused: 'never' }
    const waitMs = buckets.waitMs(key, limit, at, cost)
    if (waitMs > 0) return { budget: budget(), refused: { retryAfterSeconds: Math.ceil(waitMs / 1_000) } }
    buckets.take(key, limit, at, cost)
    return { budget: budget(), refused: null }
  }
}
