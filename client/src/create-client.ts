import { bulk, bulkRun, type Bulk, type BulkActionName, type BulkRun } from './bulk.ts'
import { ClientError, throwInputError } from './client-error.ts'
import type { Connection } from './connection.ts'
import {
  ClientEnqueueDocument,
  type ClientEnqueueMutation,
  type ClientJobFragment,
  type EnqueueJobInput,
  type EnqueueOutcome,
  type JobSelectionInput,
  type TypedDocumentString,
} from './generated/graphql.ts'
import { sendRepeatedly } from './repeat.ts'
import { send } from './send.ts'
import { streamByEvents } from './stream-by-events.ts'
import { streamBySocket } from './stream-by-socket.ts'
import { watch, type JobUpdate, type WatchOptions } from './watch.ts'

export interface ClientOptions {
  /** Where the service is, e.g. `https://jobs.example.org`. */
  readonly url: string
  /** An API key or a JWT; a function is asked before each call and each reconnect. */
  readonly token: string | (() => string | Promise<string>)
  /** How streams come: server-sent events unless set. */
  readonly transport?: 'events' | 'socket'
}

/** A job as the client shows it. */
export type Job = ClientJobFragment

export interface Client {
  /** Sends any typed operation once. */
  run<Data, Variables extends object>(
    document: TypedDocumentString<Data, Variables>,
    variables: Variables,
  ): Promise<Data>
  /**
   * Enqueues a job. With an `idempotencyKey` it is tried again while the service cannot be reached: the same key is one job.
   * What the input is refused for is thrown as a ClientError.
   */
  enqueue(
    input: EnqueueJobInput,
    options?: { readonly signal?: AbortSignal },
  ): Promise<{ readonly job: Job; readonly outcome: EnqueueOutcome }>
  /** A job's updates, each transition exactly once, until it has ended. */
  watch(id: string, options?: WatchOptions): AsyncGenerator<JobUpdate, void>
  /** Waits until a job has ended, and answers it. Throws where it was discarded, or `signal` fired before. */
  waitFor(id: string, options?: { readonly signal?: AbortSignal }): Promise<Job>
  /** An action on many jobs, named by `ids`, `filter` or `deadLetterGroup`. Nothing happens until it is started. */
  bulk(action: BulkActionName, select: JobSelectionInput): Bulk
  /** A bulk operation that was begun before, perhaps elsewhere. */
  bulkOperation(id: string): BulkRun
}

/** A client of one service, for Node.js from 22 and for browsers. Holds nothing open between calls. */
export function createClient({ url, token, transport = 'events' }: ClientOptions): Client {
  // Both often come from the environment, where they may be missing.
  if (typeof url !== 'string' || !URL.canParse(url))
    throw new TypeError(`createClient: url must be an address such as https://jobs.example.org, not ${String(url)}.`)
  if (typeof token !== 'function' && (typeof token !== 'string' || token === ''))
    throw new TypeError(
      'createClient: token must be an API key or a JWT, or a function that answers one; it is missing.',
    )
  const connection: Connection = {
    url: `${url.replace(/\/$/, '')}/graphql`,
    token: typeof token === 'string' ? () => token : token,
    renewsToken: typeof token !== 'string',
  }
  const openStream = transport === 'socket' ? streamBySocket : streamByEvents

  return {
    run: (document, variables) => send(connection, { query: document.toString(), variables }),

    async enqueue(input, { signal } = {}) {
      const operation = { query: ClientEnqueueDocument.toString(), variables: { input } }
      // Without a key the same call twice may be two jobs.
      const call = input.idempotencyKey == null ? send : sendRepeatedly
      return answerOf(await call<ClientEnqueueMutation>(connection, operation, signal))
    },

    watch: (id, options) => watch(connection, openStream, id, options),

    async waitFor(id, { signal } = {}) {
      let job: Job | null | undefined = null
      for await (const update of watch(connection, openStream, id, signal && { signal })) job = update.job
      signal?.throwIfAborted()
      if (job == null) throw new ClientError('NOT_FOUND', `The job ${id} was discarded.`)
      return job
    },

    bulk: (action, select) => bulk(connection, openStream, action, select),

    bulkOperation: (id) => bulkRun(connection, openStream, id),
  }
}

function answerOf({ enqueueJob: { job, outcome, errors } }: ClientEnqueueMutation) {
  throwInputError(errors)
  return { job: job!, outcome: outcome! }
}
