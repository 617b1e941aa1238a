import type { GraphQLError } from 'graphql'
import type { Caller } from '../jobs/permissions.ts'
import type { Budget } from '../resolvers/context.ts'

/** One operation on its way through the edge, whichever door it came in by. */
export interface Call {
  readonly requestId: string
  readonly traceparent: string | null
  caller: Caller | null
  /** Set once the operation is known. */
  mutates: boolean
  /** In points, once the operation is priced. */
  cost: number
  /** What is left to the caller after it; null: there is none to keep to. */
  budget: Budget | null
}

/** A result as it leaves, its errors masked. */
export interface Outcome {
  readonly data?: unknown
  readonly errors?: readonly GraphQLError[] | undefined
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}
