import { setTimeout as wait } from 'node:timers/promises'
import { Snooze } from '../../../jobs/errors.ts'
import type { ProviderFault } from '../../../jobs/event.ts'

/** The right to hand one message over. */
export interface Pass {
  /** The provider answers, whatever it says of this message. */
  alive(): void
  /** Closes the way for everybody; answers for how many milliseconds. */
  fault(fault: ProviderFault, reason: string): number
  /** Gives the pass back; to be called in any case. */
  leave(): void
}

export interface ProviderBreaker {
  /** At once as a rule; while one run tries a provider that failed, after it. Throws Snooze as long as nobody may try, or the signal's reason. */
  enter(signal: AbortSignal): Promise<Pass>
}

export interface BreakerDeps {
  /** The provider is out for so long, for every instance; each prolongation is told as well. */
  readonly onOpen: (ms: number, fault: ProviderFault, reason: string) => void
  /** It is back. */
  readonly onClose: () => void
  readonly random: () => number
  /** How long the first pause and the longest are. */
  readonly pauses?: { readonly firstMs: number; readonly longestMs: number }
}

const second = 1_000
const usualPauses = { firstMs: 5 * second, longestMs: 60 * second }

/** One in a minute is tried while a provider is out, so that no job loses its attempts to it (KINDS section 2). */
export function createProviderBreaker({
  onOpen,
  onClose,
  random,
  pauses: { firstMs, longestMs } = usualPauses,
}: BreakerDeps): ProviderBreaker {
  let openUntil = 0
  let strikes = 0
  let probe: Promise<void> | null = null

  const open = (fault: ProviderFault, reason: string): number => {
    const now = performance.now()
    // Runs that were under way when the first one failed say nothing new.
    if (now < openUntil) return openUntil - now
    const ms = fault === 'refusing' ? longestMs : Math.min(firstMs * 2 ** Math.min(strikes, 10), longestMs)
    strikes += 1
    openUntil = now + ms
    onOpen(ms, fault, reason)
    return ms
  }

  const close = (): void => {
    if (strikes === 0) return
    strikes = 0
    openUntil = 0
    onClose()
  }

  return {
    async enter(signal) {
      for (;;) {
        const restMs = openUntil - performance.now()
        // Not all at once when it is over.
        if (restMs > 0) throw new Snooze(Math.ceil(restMs + random() * second))
        if (strikes === 0) return { alive: close, fault: open, leave() {} }
        if (probe === null) break
        await Promise.race([
          probe,
          wait(longestMs, undefined, { ref: false, signal }).catch(() => signal.throwIfAborted()),
        ])
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      probe = promise
      return {
        alive: close,
        fault: open,
        leave() {
          if (probe === promise) probe = null
          resolve()
        },
      }
    },
  }
}
