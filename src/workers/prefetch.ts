import type { ClaimRules } from './claim-rules.ts'

/** How many jobs may wait claimed beside the slots: what starts within 20 ms by measured run times, at most 4,000 (SPEC section 4). */
export interface Prefetch {
  /** A run has ended; both moments in monotonic milliseconds. */
  ran(kind: string, startedAt: number, now: number): void
  size(now: number): number
  /** What waits would wait for long: nothing that was known holds. */
  forget(): void
}

const startsWithinMs = 20
/** Two claims of the largest size: the next one is under way while what the last one brought is run. */
const largest = 4_000
/** A kind that has not run for this long no longer counts. */
const forgetAfterMs = 5_000
/** Of what was seen so long ago half is left: a slow kind is known by the first runs that show it. */
const halfLifeMs = 50
/** So many runs of late must speak for a buffer: one quick run of a slow handler does not. */
const fewestRuns = 3
/** Ends that follow one another so closely are a wave: who comes late in it was ready when it began. */
const waveGapMs = 1
/** So much of the wait for the others of a wave is left out: where waves keep the process busy for longer, what is in the buffer would start late. */
const mostWaveMs = 10

interface Seen {
  runs: number
  ms: number
  at: number
}

/**
 * Handlers that take longer never see a buffer: the slowest kind of late decides. A restart then leaves little hanging, and a job that came
 * later with a better priority waits for 20 ms at most.
 */
export function createPrefetch(slots: number, { isAlone }: Pick<ClaimRules, 'isAlone'>): Prefetch {
  const kinds = new Map<string, Seen>()
  let size = 0
  let countedAt = -Infinity
  let endedAt = -Infinity
  let waveAt = -Infinity

  const count = (now: number): number => {
    const aged = 0.5 ** Math.min((now - countedAt) / halfLifeMs, 10)
    let slowest = 0
    let runs = 0
    for (const [kind, seen] of kinds) {
      if (now - seen.at > forgetAfterMs) kinds.delete(kind)
      else if (seen.runs > 0) slowest = Math.max(slowest, seen.ms / seen.runs)
      // Where others claim, of the last few runs, however long ago: who comes to four jobs in a tenth of a second would never see a buffer.
      const kept = isAlone() ? aged : Math.max(aged, Math.min(fewestRuns / seen.runs, 1))
      seen.runs *= kept
      seen.ms *= kept
      runs += seen.runs
    }
    // In whole milliseconds, as timers are: what waits 20 ms for somebody else is measured as 20.1 to 20.9, and would lie idle for a tenth of its time.
    if (runs < fewestRuns || Math.floor(slowest) > startsWithinMs) return 0
    return Math.min(Math.floor((slots * startsWithinMs) / Math.max(slowest, 0.005)), largest)
  }

  /** Without the wait for the others of its wave: 512 waits of 20 ms that end together take 20 to 25, and would have no buffer. */
  const ownMs = (startedAt: number, now: number): number => {
    if (now - endedAt > waveGapMs) waveAt = now
    endedAt = now
    const wholeMs = now - startedAt
    return startedAt < waveAt ? Math.max(waveAt - startedAt, wholeMs - mostWaveMs) : wholeMs
  }

  return {
    ran(kind, startedAt, now) {
      const ms = ownMs(startedAt, now)
      const seen = kinds.get(kind)
      // Its first run compiles a handler: a quick one is ten times as slow in it, and the claims of a start grew by halves of what they could be.
      if (seen === undefined)
        kinds.set(kind, ms > startsWithinMs ? { runs: 1, ms, at: now } : { runs: 0, ms: 0, at: now })
      else {
        // A pause of the garbage collector or of the machine hits one run in hundreds; a handler that has become slow is known after six.
        seen.ms += seen.runs === 0 ? ms : Math.min(ms, 2 * (seen.ms / seen.runs) + 0.5)
        seen.runs += 1
        seen.at = now
      }
    },
    size(now) {
      if (now - countedAt < 5) return size
      size = count(now)
      countedAt = now
      return size
    },
    forget() {
      kinds.clear()
      size = 0
    },
  }
}
