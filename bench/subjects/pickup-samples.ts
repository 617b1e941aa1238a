import { setTimeout as wait } from 'node:timers/promises'
import type { Figures } from '../bench.ts'
import type { Meter } from '../meter.ts'

/** What starts of handlers are told to, by the number in the payload. */
export interface PickupSamples {
  started(i: number): void
  /** Enqueues one after the other, each when the system is at rest again. */
  take(enqueue: (i: number) => Promise<unknown>): Promise<Figures>
}

const warmUps = 30

/** Measures pickups; the first ones, while code and plans are cold, do not count. */
export function createPickupSamples(count: number, meter: Meter): PickupSamples {
  const waiting = new Map<number, (at: number) => void>()

  return {
    started(i) {
      waiting.get(i)?.(performance.now())
    },
    async take(enqueue) {
      const whole: number[] = []
      const fromAnswer: number[] = []
      for (let i = 0; i < warmUps + count; i += 1) {
        if (i === warmUps) meter.begin()
        const start = new Promise<number>((resolve) => waiting.set(i, resolve))
        const called = performance.now()
        await enqueue(i)
        const answered = performance.now()
        const startedAt = await start
        if (i >= warmUps) {
          whole.push(startedAt - called)
          fromAnswer.push(startedAt - answered)
        }
        // Out of step with every timer of what is measured.
        await wait(15 + Math.random() * 30)
      }
      const { nodeMicros, serverMicros } = meter.end() as { nodeMicros: number; serverMicros: number }
      return {
        p50: percentile(whole, 0.5),
        p95: percentile(whole, 0.95),
        p99: percentile(whole, 0.99),
        fromAnswerP50: percentile(fromAnswer, 0.5),
        nodeMicros,
        serverMicros,
      }
    },
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)]!
}
