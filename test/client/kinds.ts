import { defineKind, z } from 'stellwerk'

/** Fails at once, as a provider does that does not answer. */
export const kinds = [
  defineKind({
    name: 'slow_provider',
    payload: z.object({}),
    example: {},
    defaults: { maxAttempts: 1 },
    async run() {
      throw new Error('The provider did not answer: timeout.')
    },
  }),
]
