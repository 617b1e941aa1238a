import { day, hour, minute, second, standardDefaults, type JobKind } from '../kind.ts'
import { outboxDispatchPayload } from '../outbox-dispatch-payload.ts'

export const outboxDispatch = {
  name: 'outbox_dispatch',
  description: 'Spreads events of the outbox over the webhook endpoints that want them, and carries each to each.',
  payload: outboxDispatchPayload,
  example: { phase: 'fanout' },
  redact: [],
  defaults: {
    ...standardDefaults,
    priority: 60,
    // 15 attempts with these pauses take 1.9 days.
    maxAttempts: 15,
    backoff: { baseMs: 10 * second, maxMs: 24 * hour, jitter: 0.1 },
    timeoutMs: 30 * second,
    staleAfterMs: 5 * minute,
    retentionMs: 7 * day,
  },
  inputField: null,
  schedule: null,
} as const satisfies JobKind
