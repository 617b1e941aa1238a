import type { GraphQLFailure } from './client-error.ts'

/** Where the service is, and who calls. */
export interface Connection {
  /** The address of GraphQL, e.g. `https://jobs.example.org/graphql`. */
  readonly url: string
  /** Asked before each call and each reconnect, so that a token may be renewed. */
  readonly token: () => string | Promise<string>
  /** Whether asking again may bring another token. */
  readonly renewsToken: boolean
}

/** An operation as it is sent. */
export interface Operation {
  readonly query: string
  readonly variables: object
}

/** An answer, or one message of a stream. */
export interface Result<Data> {
  readonly data?: Data | null
  readonly errors?: readonly GraphQLFailure[]
}

/** Opens a subscription once. Ends when the service says that this was all; throws ClientError when it is cut. */
export type OpenStream = <Data>(
  connection: Connection,
  operation: Operation,
  signal: AbortSignal,
) => AsyncGenerator<Result<Data>, void>

/** The service is heard of every 12 s at least: after so long in silence the way to it is broken. */
export const silentTooLongMs = 30_000
