import type { RateLimit } from '../../../jobs/rate-limit.ts'

/** How fast mails go to a provider that asks for less: it gets half, and then step by step more again. */
export interface ProviderPace {
  /** A mail is handed over now. */
  tried(): void
  /** The provider asked for less, in answer to a run that began then (performance.now()). */
  throttled(begunAt: number, reason: string): void
  stop(): void
}

interface ProviderPaceDeps {
  /** The buckets of all providers, as the claim minds them: the entry of this one is exchanged, and put back. */
  readonly limits: Record<string, RateLimit>
  readonly provider: string
  /** The bucket was exchanged; the reason: it is smaller now. Null: larger. */
  readonly onChange: (limit: RateLimit | null, reason: string | null) => void
}

const second = 1_000
const minute = 60 * second
const measuredMs = 10 * second
/** One mail a minute: also when a day's quota is used up somebody has to ask whether it still is. */
const slowest = 1 / 60
/** From one mail a minute back to ten a second in a quarter of an hour. */
const growth = 1.5

export function createProviderPace({ limits, provider, onChange }: ProviderPaceDeps): ProviderPace {
  const full = limits[provider]
  const tries: number[] = []
  /** At what rate the first of these refusals came. */
  let before = 0
  let loweredAt = -Infinity
  let timer: NodeJS.Timeout | undefined

  /** Over a second at least: a few mails in a moment are no rate. */
  const measured = (now: number): number => {
    forget(now)
    return tries.length / (Math.max(now - (tries[0] ?? now), second) / second)
  }

  const forget = (now: number): void => {
    while (tries[0] !== undefined && tries[0] < now - measuredMs) tries.shift()
  }

  const set = (rps: number): RateLimit =>
    (limits[provider] = { rps, burst: Math.max(Math.min(rps, full?.burst ?? Infinity), 1) })

  const grow = (): void => {
    const rps = limits[provider]!.rps * growth
    if (rps < before) set(rps)
    else {
      clearInterval(timer)
      timer = undefined
      if (full === undefined) delete limits[provider]
      else limits[provider] = full
    }
    onChange(limits[provider] ?? null, null)
  }

  return {
    tried() {
      const now = performance.now()
      forget(now)
      tries.push(now)
    },
    throttled(begunAt, reason) {
      // Runs that were under way when it was lowered say nothing new.
      if (begunAt < loweredAt) return
      loweredAt = performance.now()
      const now = Math.min(limits[provider]?.rps ?? Infinity, Math.max(measured(loweredAt), slowest))
      if (timer === undefined) before = full?.rps ?? now
      clearInterval(timer)
      timer = setInterval(grow, minute)
      timer.unref()
      onChange(set(Math.max(now / 2, slowest)), reason)
    },
    stop: () => clearInterval(timer),
  }
}
