import { receiveImport } from '../resolvers/receive-import.ts'
import { createFormRoute, type FormRouteDeps } from './form-route.ts'
import type { Routes } from './router.ts'
import { sendJson } from './send.ts'

/** `POST /imports`: a form with the file, and what it is (PROMISES). */
export function createImportRoute(deps: FormRouteDeps): Routes {
  return {
    '/imports': createFormRoute(deps, {
      receive: receiveImport,
      fields: ['entityType', 'options', 'tenant'],
      async accept(reception, file, fields, response) {
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
    }),
  }
}
