import { day, hour, minute, standardDefaults, type JobKind } from '../kind.ts'
import { indexSyncPayload } from '../entity-payloads.ts'

export const indexSync = {
  name: 'index_sync',
  description: 'Brings the indexes of one attribute in line with its flags.',
  payload: indexSyncPayload,
  example: { attribute_id: '0197f3c2-7a54-7b1c-9d2e-5f6a7b8c9d0e' },
  redact: [],
  defaults: {
    ...standardDefaults,
    priority: 200,
    maxAttempts: 3,
    backoff: { baseMs: 5 * minute, maxMs: 30 * minute, jitter: 0.1 },
    timeoutMs: 55 * minute,
    staleAfterMs: 2 * hour,
    retentionMs: 90 * day,
  },
  // There is one build at a time for the table; others would only ask for its lock.
  perInstance: 1,
  inputField: 'indexSync',
  schedule: null,
} as const satisfies JobKind
