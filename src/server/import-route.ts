import type { IncomingMessage, ServerResponse } from 'node:http'
import { ObjectTooLarge } from '../objects/object-store.ts'
import type { RequestContext } from '../resolvers/context.ts'
import { receiveImport, type ImportReception } from '../resolvers/receive-import.ts'
import type { Authenticate } from './auth.ts'
import type { Call } from './call.ts'
import { readMultipart, readPast } from './read-multipart.ts'
import { traceparentOf } from './request-facts.ts'
import type { Routes } from './router.ts'
import { HttpError, sendJson } from './send.ts'

interface ImportRouteDeps {
  readonly authenticate: Authenticate
  readonly contextFor: (call: Call) => RequestContext
}

const bodyWithinMs = 60 * 60 * 1_000

/** `POST /imports`: a form with the file, and what it is (PROMISES). */
export function createImportRoute({ authenticate, contextFor }: ImportRouteDeps): Routes {
  const receptionFor = async (request: IncomingMessage, response: ServerResponse): Promise<ImportReception> => {
    const caller = await authenticate(request.headers.authorization)
    const requestId = String(response.getHeader('x-request-id'))
    const traceparent = traceparentOf(request)
    return receiveImport(contextFor({ requestId, traceparent, caller, mutates: true, cost: 0, budget: null }))
  }

  return {
    '/imports': {
      bodyWithinMs,
      async POST(request, response) {
        const reception = await receptionFor(request, response).catch(async (error: unknown) => {
          await readPast(request)
          throw error
        })
        const { fields, file } = await readMultipart(request, {
          file: 'file',
          fields: ['entityType', 'options', 'tenant'],
          store: (incoming) => reception.store(incoming).catch(asTooLarge),
          discard: reception.discard,
        })
        const form = {
          entityType: fields.get('entityType'),
          options: fields.get('options'),
          tenant: fields.get('tenant'),
        }
        const { importId, jobId, created } = await reception.accept(file, form)
        sendJson(response, created ? 202 : 200, {
          importId: `import_${importId}`,
          jobId: jobId === null ? null : `job_${jobId}`,
        })
      },
    },
  }
}

function asTooLarge(error: unknown): never {
  if (error instanceof ObjectTooLarge)
    throw new HttpError(
      413,
      'BAD_USER_INPUT',
      `${error.message} Send a smaller file; an operator may raise STELLWERK_MAX_UPLOAD_MB.`,
      {
        connection: 'close',
      },
    )
  throw error
}
