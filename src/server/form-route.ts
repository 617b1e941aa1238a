import type { ServerResponse } from 'node:http'
import { ObjectTooLarge } from '../objects/object-store.ts'
import type { RequestContext } from '../resolvers/context.ts'
import type { Authenticate } from './auth.ts'
import type { Call } from './call.ts'
import { readMultipart, readPast, type IncomingFile } from './read-multipart.ts'
import { traceparentOf } from './request-facts.ts'
import type { Routes } from './router.ts'
import { HttpError } from './send.ts'

export interface FormRouteDeps {
  readonly authenticate: Authenticate
  readonly contextFor: (call: Call) => RequestContext
}

/** Where the file of a form goes. */
interface Reception<Stored> {
  /** Throws ObjectTooLarge; then nothing is left behind. */
  store(file: IncomingFile): Promise<Stored>
  discard(file: Stored): Promise<void>
}

interface FormRoute<Stored, Taken extends Reception<Stored>> {
  /** Who may not send is refused before the first byte is read. */
  readonly receive: (context: RequestContext) => Taken & Reception<Stored>
  /** Names of the text fields that may stand beside `file`. */
  readonly fields: readonly string[]
  readonly accept: (
    reception: NoInfer<Taken>,
    file: NoInfer<Stored>,
    fields: ReadonlyMap<string, string>,
    response: ServerResponse,
  ) => Promise<void>
}

const bodyWithinMs = 60 * 60 * 1_000

/** A POST that takes a form with one file: stored while it comes, accepted once the whole form is good. */
export function createFormRoute<Stored, Taken extends Reception<Stored>>(
  { authenticate, contextFor }: FormRouteDeps,
  { receive, fields: names, accept }: FormRoute<Stored, Taken>,
): Routes[string] {
  return {
    bodyWithinMs,
    async POST(request, response) {
      const reception = await authenticate(request.headers.authorization)
        .then((caller) => {
          const requestId = String(response.getHeader('x-request-id'))
          const traceparent = traceparentOf(request)
          return receive(contextFor({ requestId, traceparent, caller, mutates: true, cost: 0, budget: null }))
        })
        .catch(async (error: unknown) => {
          await readPast(request)
          throw error
        })
      const { fields, file } = await readMultipart(request, {
        file: 'file',
        fields: names,
        store: (incoming) => reception.store(incoming).catch(asTooLarge),
        discard: reception.discard,
      })
      await accept(reception, file, fields, response)
    },
  }
}

function asTooLarge(error: unknown): never {
  if (!(error instanceof ObjectTooLarge)) throw error
  const remedy = 'Send a smaller file; an operator may raise STELLWERK_MAX_UPLOAD_MB.'
  throw new HttpError(413, 'BAD_USER_INPUT', `${error.message} ${remedy}`, { connection: 'close' })
}
