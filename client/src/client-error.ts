/** A refusal or a failure; `code` is that of the service (`extensions.code`), or NETWORK where none answered. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly code: string
  /** How long the service asked to wait, in seconds. */
  readonly retryAfter: number | null
  /** The id under which the service's log knows of it. */
  readonly requestId: string | null
  /** The input field that was refused, as a path; empty where it is none. */
  readonly path: readonly string[]
  /** Where in the payload, as a JSON Pointer. */
  readonly pointer: string | null

  constructor(
    code: string,
    message: string,
    {
      retryAfter = null,
      requestId = null,
      path = [],
      pointer = null,
      ...options
    }: ErrorOptions & Partial<Pick<ClientError, 'retryAfter' | 'requestId' | 'path' | 'pointer'>> = {},
  ) {
    super(message, options)
    this.code = code
    this.retryAfter = retryAfter
    this.requestId = requestId
    this.path = path
    this.pointer = pointer
  }
}

/** What stands in the payload of a mutation where its input was refused. */
export interface InputError {
  readonly code: string
  readonly message: string
  readonly path: readonly string[]
  readonly pointer?: string | null
}

/** Throws what the input was refused for, if it was. */
export function throwInputError([first]: readonly InputError[]): void {
  if (first === undefined) return
  const { code, message, path, pointer = null } = first
  throw new ClientError(code, message, { path, pointer })
}

/** The first error of a GraphQL answer. */
export interface GraphQLFailure {
  readonly message: string
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** Throws what an answer was refused with, if it was. */
export function throwFailure(errors: readonly GraphQLFailure[] | undefined): void {
  const [first] = errors ?? []
  if (first === undefined) return
  const { code, retryAfter, requestId } = first.extensions ?? {}
  throw new ClientError(typeof code === 'string' ? code : 'INTERNAL_SERVER_ERROR', first.message, {
    retryAfter: typeof retryAfter === 'number' ? retryAfter : null,
    requestId: typeof requestId === 'string' ? requestId : null,
  })
}

/** Whether the same call may succeed a little later. */
export function isTransient(error: unknown): error is ClientError {
  const codes = ['NETWORK', 'SERVICE_UNAVAILABLE', 'RATE_LIMITED']
  return error instanceof ClientError && codes.includes(error.code)
}

/** What `fetch` and sockets throw, as an error of this family. */
export function networkError(message: string, cause?: unknown): ClientError {
  return cause instanceof ClientError ? cause : new ClientError('NETWORK', message, { cause })
}
