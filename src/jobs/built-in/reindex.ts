import { day, hour, minute, second, standardDefaults, type JobKind } from '../kind.ts'
import { reindexPayload } from '../entity-payloads.ts'

export const reindex = {
  name: 'reindex',
  description: 'Rebuilds the search vectors of the entities of one type.',
  payload: reindexPayload,
  example: { type_key: 'customer', reason: 'The dictionary changed.' },
  redact: [],
  defaults: {
    ...standardDefaults,
    priority: 150,
    maxAttempts: 5,
    backoff: { baseMs: 60 * second, maxMs: hour, jitter: 0.1 },
    // Of one slice: after half a minute the job lets others in and goes on later.
    timeoutMs: 10 * minute,
    staleAfterMs: 30 * minute,
    retentionMs: 30 * day,
  },
  // One at a time in a process: it goes on for minutes in slices, and the database does the work.
  perInstance: 1,
  inputField: 'reindex',
  schedule: null,
} as const satisfies JobKind
