import type { IncomingMessage, ServerResponse } from 'node:http'
import { ObjectTooLarge } from '../objects/object-store.ts'
import { receiveDocument, type DocumentReception } from '../resolvers/receive-document.ts'
import type { RequestContext } from '../resolvers/context.ts'
import type { Authenticate } from './auth.ts'
import type { Call } from './call.ts'
import { readMultipart, readPast } from './read-multipart.ts'
import { traceparentOf } from './request-facts.ts'
import type { Routes } from './router.ts'
import { HttpError, sendJson } from './send.ts'

interface DocumentRouteDeps {
  readonly authenticate: Authenticate
  readonly contextFor: (call: Call) => RequestContext
}

const bodyWithinMs = 60 * 60 * 1_000

/** `POST /documents`: a form with the file, and perhaps whether to derive a title and for whom (PROMISES). */
export function createDocumentRoute({ authenticate, contextFor }: DocumentRouteDeps): Routes {
  const receptionFor = async (request: IncomingMessage, response: ServerResponse): Promise<DocumentReception> => {
    const caller = await authenticate(request.headers.authorization)
    const requestId = String(response.getHeader('x-request-id'))
    const traceparent = traceparentOf(request)
    return receiveDocument(contextFor({ requestId, traceparent, caller, mutates: true, cost: 0, budget: null }))
  }

  return {
    '/documents': {
      bodyWithinMs,
      async POST(request, response) {
        const reception = await receptionFor(request, response).catch(async (error: unknown) => {
          await readPast(request)
          throw error
        })
        const { fields, file } = await readMultipart(request, {
          file: 'file',
          fields: ['deriveTitle', 'tenant'],
          store: (incoming) => reception.store(incoming).catch(asTooLarge),
          discard: reception.discard,
        })
        const form = { deriveTitle: fields.get('deriveTitle'), tenant: fields.get('tenant') }
        const { documentId, jobId } = await reception.accept(file, form)
        sendJson(response, 201, { documentId, jobId })
      },
    },
  }
}

function asTooLarge(error: unknown): never {
  if (!(error instanceof ObjectTooLarge)) throw error
  const remedy = 'Send a smaller file; an operator may raise STELLWERK_MAX_UPLOAD_MB.'
  throw new HttpError(413, 'BAD_USER_INPUT', `${error.message} ${remedy}`, { connection: 'close' })
}
