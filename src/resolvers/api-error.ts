import { StellwerkError } from '../jobs/errors.ts'

/** Who you are, what you may, how much, and whether the service can: errors of the whole operation (PROMISES, top-level errors). */
export type ApiErrorCode =
  | 'UNAUTHENTICATED'
  | 'TOKEN_EXPIRED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'BAD_USER_INPUT'
  | 'COST_LIMIT_EXCEEDED'
  | 'RATE_LIMITED'
  | 'SERVICE_UNAVAILABLE'
  | 'INTERNAL_SERVER_ERROR'

/** A top-level error: the edge turns it into a GraphQL error with `extensions.code`. The message may be shown to anyone. */
export class ApiError extends StellwerkError {
  declare readonly code: ApiErrorCode
  /** What else stands in `extensions`. */
  readonly extensions: Readonly<Record<string, unknown>>
  constructor(code: ApiErrorCode, message: string, extensions: Readonly<Record<string, unknown>> = {}) {
    super(code, message)
    this.extensions = extensions
  }
}
