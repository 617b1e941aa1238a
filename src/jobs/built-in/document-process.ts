import { documentProcessPayload } from '../document-process-payload.ts'
import { day, hour, minute, second, standardDefaults, type JobKind } from '../kind.ts'

export const documentProcess = {
  name: 'document_process',
  description: 'Reads an archived document: its text (recognised where it is a picture), title, terms and workflows.',
  payload: documentProcessPayload,
  example: { document_id: '0197f3c2-7a54-7b1c-9d2e-5f6a7b8c9d0e', derive_title: true },
  redact: [],
  defaults: {
    ...standardDefaults,
    priority: 110,
    maxAttempts: 4,
    backoff: { baseMs: 60 * second, maxMs: hour, jitter: 0.1 },
    timeoutMs: 10 * minute,
    staleAfterMs: 15 * minute,
    retentionMs: 30 * day,
  },
  inputField: 'documentProcess',
  schedule: null,
  perInstance: 'coresButOne',
} as const satisfies JobKind
