import { receiveDocument } from '../resolvers/receive-document.ts'
import { createFormRoute, type FormRouteDeps } from './form-route.ts'
import type { Routes } from './router.ts'
import { sendJson } from './send.ts'

/** `POST /documents`: a form with the file, and perhaps whether to derive a title and for whom (PROMISES). */
export function createDocumentRoute(deps: FormRouteDeps): Routes {
  return {
    '/documents': createFormRoute(deps, {
      receive: receiveDocument,
      fields: ['deriveTitle', 'tenant'],
      async accept(reception, file, fields, response) {
        const form = { deriveTitle: fields.get('deriveTitle'), tenant: fields.get('tenant') }
        const { documentId, jobId } = await reception.accept(file, form)
        sendJson(response, 201, { documentId, jobId })
      },
    }),
  }
}
