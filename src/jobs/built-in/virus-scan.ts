import { day, hour, minute, second, standardDefaults, type JobKind } from '../kind.ts'
import { virusScanPayload } from '../virus-scan-payload.ts'

export const virusScan = {
  name: 'virus_scan',
  description: 'Lets ClamAV look at an uploaded file; only what it finds clean can be downloaded.',
  payload: virusScanPayload,
  example: { attachment_id: '0197f3c2-5d41-7a07-9f63-0f4a6f2f9c11', attempt_reason: 'commit' },
  redact: [],
  defaults: {
    ...standardDefaults,
    priority: 70,
    maxAttempts: 10,
    backoff: { baseMs: 15 * second, maxMs: hour, jitter: 0.1 },
    // The scan itself is given 30 s and a second for each MB: this is for the largest file, and for taking it from where it was put.
    timeoutMs: 10 * minute,
    staleAfterMs: 15 * minute,
    retentionMs: 30 * day,
    provider: 'clamd',
  },
  inputField: 'virusScan',
  schedule: null,
  // clamd has threads for a few at once; the rest of them waits in its queue, where no time limit of ours is kept.
  perInstance: 2,
} as const satisfies JobKind
