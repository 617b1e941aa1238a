import { bulkImportPayload } from '../bulk-import-payload.ts'
import { day, hour, minute, standardDefaults, type JobKind } from '../kind.ts'

export const bulkImport = {
  name: 'bulk_import',
  description: 'Reads an uploaded file in, checks its rows and makes entities of them, in slices.',
  payload: bulkImportPayload,
  example: { import_job_id: '0198f0c2-7b1e-7c55-9d0f-2a6f1f0c9b11' },
  redact: [],
  defaults: {
    ...standardDefaults,
    priority: 120,
    maxAttempts: 5,
    backoff: { baseMs: minute, maxMs: hour, jitter: 0.1 },
    timeoutMs: 10 * minute,
    staleAfterMs: 2 * hour,
    retentionMs: 90 * day,
  },
  perInstance: 1,
  inputField: 'bulkImport',
  schedule: null,
} as const satisfies JobKind
