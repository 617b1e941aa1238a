import type { GraphQLError } from 'graphql'
import type { Caller } from '../jobs/permissions.ts'

/** One operation on its way through the edge, whichever door it came in by. */
export interface Call {
  readonly requestId: string
  readonly traceparent: string | null
  caller: Caller | null
  /** Set once the operation is known. */
  mutates: boolean
}

/** A result as it leaves, its errors masked. */
export interface Outcome {
  readonly data?: unknown
  readonly errors?: readonly GraphQLError[] | undefined
  readonly extensions?: Readonly<Record<string, unknown>> | undefined
}
