import { createBell } from '../events/bell.ts'
import type { Events } from '../jobs/event.ts'
import type { Pulse } from './pulses.ts'

/** Work that is done again and again until the process stops. */
export interface Loop {
  /** `inMs`: the first turn comes after so many milliseconds, or when it rings; it may have rung before. */
  start(inMs?: number): void
  /** There may be something to do: the next turn comes at once. */
  ring(): void
  /** No further turn; resolves when the one under way has ended. */
  stop(): Promise<void>
}

interface LoopDeps {
  /** As it is told in `loop:failed`. */
  readonly name: string
  /** One turn; answers how many milliseconds to wait until the next. */
  readonly turn: () => Promise<number>
  readonly retryAfterMs: number
  /** However often it rings. */
  readonly atMostEveryMs?: number
  readonly events: Events
  readonly pulse: Pulse
}

/** Runs a turn, tells its error, waits, and goes on. */
export function createLoop({ name, turn, retryAfterMs, atMostEveryMs = 0, events, pulse }: LoopDeps): Loop {
  const bell = createBell()
  let running: Promise<void> | undefined
  let stopped = false

  const once = async (): Promise<number> => {
    try {
      pulse.begin()
      const pauseMs = await turn()
      pulse.next(pauseMs)
      return pauseMs
    } catch (error) {
      pulse.failed(error)
      events.emit({ type: 'loop:failed', loop: name, error: error as Error })
      return retryAfterMs
    }
  }

  const run = async (inMs: number): Promise<void> => {
    if (inMs > 0) await bell.wait(inMs)
    while (!stopped) {
      const startedAt = performance.now()
      const pauseMs = await once()
      if (!stopped && pauseMs > 0) await bell.wait(pauseMs)
      const early = startedAt + atMostEveryMs - performance.now()
      if (!stopped && early > 0) await new Promise((resolve) => setTimeout(resolve, early))
    }
    pulse.rest()
  }

  return {
    start(inMs = 0) {
      running ??= run(inMs)
    },
    ring: bell.ring,
    async stop() {
      stopped = true
      bell.ring()
      await running
    },
  }
}

/** About so many milliseconds: not all instances at the same moment. */
export function about(ms: number): number {
  return ms * (0.9 + 0.2 * Math.random())
}
