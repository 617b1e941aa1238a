import { day, hour, minute, standardDefaults, type JobKind } from '../kind.ts'
import { ginBackfillPayload } from '../entity-payloads.ts'

export const ginBackfill = {
  name: 'gin_backfill',
  description: 'Builds or drops the index for look-ups by external sources of one type.',
  payload: ginBackfillPayload,
  example: { type_key: 'customer' },
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
  // As index_sync.
  perInstance: 1,
  inputField: 'ginBackfill',
  schedule: null,
} as const satisfies JobKind
