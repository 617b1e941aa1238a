import { setTimeout as wait } from 'node:timers/promises'
import { defineKind, RetryLater, Snooze, z } from 'stellwerk'

/** Kinds whose behaviour is known, for STELLWERK_KINDS: what the tables show afterwards can be foretold. */
const defaults = {
  maxAttempts: 30,
  backoff: { baseMs: 50, maxMs: 200, jitter: 0.1 },
  timeoutMs: 120_000,
}
const lasting = z.object({ ms: z.int().min(0).default(300) })

export const kinds = [
  defineKind({ name: 'quick', payload: z.object({}), defaults, run: async () => {} }),
  defineKind({
    name: 'slow',
    payload: lasting,
    defaults,
    async run({ payload, signal }) {
      await wait(payload.ms, undefined, { signal })
    },
  }),
  defineKind({
    name: 'stubborn',
    description: 'Does not listen to its abort.',
    payload: lasting,
    defaults,
    async run({ payload, log }) {
      log.info('I run')
      await wait(payload.ms)
    },
  }),
  defineKind({
    name: 'busy',
    description: 'Keeps the event loop to itself.',
    payload: lasting,
    defaults,
    async run({ payload }) {
      for (const end = performance.now() + payload.ms; performance.now() < end;);
    },
  }),
  defineKind({
    name: 'fails_once',
    payload: z.object({}),
    defaults,
    async run({ job }) {
      if (job.attempts === 1) throw new Error('the first attempt fails')
    },
  }),
  defineKind({
    name: 'fails_always',
    payload: z.object({}),
    defaults: { ...defaults, maxAttempts: 3 },
    async run() {
      throw new Error('every attempt fails')
    },
  }),
  defineKind({
    name: 'retries_later',
    payload: z.object({}),
    defaults,
    async run({ job }) {
      if (job.attempts === 1) throw new RetryLater(300)
    },
  }),
  defineKind({
    name: 'snoozes',
    payload: z.object({}),
    defaults,
    async run({ job }) {
      // Only a job that never waited is due at the moment of its birth.
      if (job.availableAt.getTime() === job.createdAt.getTime()) throw new Snooze(100)
    },
  }),
  defineKind({
    name: 'writes',
    description: 'Leaves a row in the transaction in which it becomes done.',
    payload: lasting.extend({ holdMs: z.int().min(0).default(0) }),
    defaults,
    async run({ payload, job, signal }) {
      await wait(payload.ms, undefined, { signal })
      return {
        commit: async (tx) => {
          await tx.query('insert into written (job_id) values ($1)', [job.id])
          if (payload.holdMs > 0) await wait(payload.holdMs)
        },
      }
    },
  }),
  defineKind({
    name: 'deadly',
    description: 'Kills the process that runs it.',
    payload: z.object({}),
    defaults: { ...defaults, maxAttempts: 3 },
    async run() {
      process.kill(process.pid, 'SIGKILL')
      await wait(60_000)
    },
  }),
]
