import { z } from 'zod'
import { day, minute, second, standardDefaults, type JobKind } from '../kind.ts'

export const cleanupJobs = {
  name: 'cleanup_jobs',
  description: 'Takes stale claims back, deletes done jobs whose time is over, keeps the journal in months.',
  payload: z.strictObject({}),
  example: {},
  redact: [],
  defaults: {
    ...standardDefaults,
    priority: 0,
    maxAttempts: 3,
    backoff: { baseMs: 10 * second, maxMs: minute, jitter: 0.1 },
    timeoutMs: 4 * minute,
    staleAfterMs: 10 * minute,
    retentionMs: 2 * day,
  },
  inputField: null,
  schedule: { every: 'PT5M' },
} as const satisfies JobKind
