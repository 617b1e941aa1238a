import { defineKind, z } from 'stellwerk'

/** A kind that enqueues itself every second. */
export const kinds = [
  defineKind({
    name: 'ticks',
    payload: z.object({}),
    defaults: { maxAttempts: 30 },
    schedule: { every: 'PT1S' },
    run: async () => {},
  }),
]
