import type { JobRow } from '../sql/job-row.ts'

/** What the caller can put right: stands in the payload of a mutation. Plain objects, since GraphQL throws what is an Error. */
export type UserError =
  | {
      readonly type: 'ValidationError'
      readonly code: 'INVALID'
      readonly message: string
      /** The input field, as a path from `input`. */
      readonly path: readonly string[]
      /** Where in the payload, as JSON Pointer. */
      readonly pointer: string | null
      /** The broken JSON Schema keyword. */
      readonly keyword: string | null
    }
  | {
      readonly type: 'NotFoundError'
      readonly code: 'NOT_FOUND'
      readonly message: string
      readonly path: readonly string[]
      readonly id: string
    }
  | {
      readonly type: 'ConflictError'
      readonly code: 'CONFLICT' | 'IDEMPOTENCY_MISMATCH'
      readonly message: string
      readonly path: readonly string[]
      readonly job: JobRow
    }
  | {
      readonly type: 'LimitError'
      readonly code: 'LIMIT_EXCEEDED' | 'COUNT_MISMATCH'
      readonly message: string
      readonly path: readonly string[]
      readonly limit: number
      readonly actual: number
    }

/** Input that breaks a rule. */
export function invalid(
  path: readonly string[],
  message: string,
  place: { readonly pointer?: string; readonly keyword?: string | null } = {},
): UserError {
  return {
    type: 'ValidationError',
    code: 'INVALID',
    message,
    path,
    pointer: place.pointer ?? null,
    keyword: place.keyword ?? null,
  }
}
