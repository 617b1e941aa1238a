import { setTimeout as wait } from 'node:timers/promises'
import { defineKind, z } from 'stellwerk'

/** Fails, and says its secret aloud wherever a handler can. */
export const kinds = [
  defineKind({
    name: 'indiscreet',
    payload: z.object({ login: z.string(), password: z.string().min(8) }),
    example: { login: 'ada', password: 'not a real one' },
    redact: ['/password'],
    defaults: { maxAttempts: 1 },
    async run({ payload, log, progress, signal }) {
      log.info(`Trying ${payload.password}.`)
      await progress({ done: 1, message: `Tried ${payload.password}.` })
      // Long enough for the report to be told.
      await wait(600, undefined, { signal })
      throw new Error(`The login of ${payload.login} with ${payload.password} was refused.`)
    },
  }),
]
