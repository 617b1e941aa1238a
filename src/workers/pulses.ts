/** What a loop shows of itself: that it gets on, and when it wants to be heard of next (FAULTS O06). */
export interface Pulse {
  /** Something is under way from now on. */
  begin(): void
  /** It got on; it will again within so many milliseconds. */
  next(inMs: number): void
  /** It got on, and has nothing more to do. */
  rest(): void
  failed(error: unknown): void
}

/** The loops of this process, told alive from dead by evidence of progress. */
export interface Pulses {
  of(loop: string): Pulse
  /** For each loop how many seconds it is overdue; 0: as it should be. */
  overdue(): Map<string, number>
  /** A sentence for each loop that has been overdue for too long. */
  missed(): string[]
}

interface Heard {
  /** Monotonic milliseconds; Infinity: it rests. */
  due: number
  error: unknown
}

/** `silentMs`: how much longer than announced a loop may take, since databases and machines are slow at times. */
export function createPulses(silentMs: number): Pulses {
  const loops = new Map<string, Heard>()
  const overdueMs = ({ due }: Heard, now: number): number => Math.max(now - due, 0)

  return {
    of(loop) {
      const heard: Heard = { due: Infinity, error: undefined }
      loops.set(loop, heard)
      return {
        begin() {
          heard.due = Math.min(heard.due, performance.now())
        },
        next(inMs) {
          heard.due = performance.now() + inMs
          heard.error = undefined
        },
        rest() {
          heard.due = Infinity
          heard.error = undefined
        },
        failed(error) {
          heard.due = Math.min(heard.due, performance.now())
          heard.error = error
        },
      }
    },
    overdue() {
      const now = performance.now()
      return new Map([...loops].map(([loop, heard]) => [loop, overdueMs(heard, now) / 1_000]))
    },
    missed() {
      const now = performance.now()
      return [...loops].flatMap(([loop, heard]) => {
        const late = overdueMs(heard, now)
        return late > silentMs ? [sentence(loop, late, heard.error)] : []
      })
    },
  }
}

function sentence(loop: string, lateMs: number, error: unknown): string {
  const since = `The ${loop} has not got on for ${Math.round(lateMs / 1_000)} s`
  if (error === undefined) return `${since} and has not failed: it waits for something that does not come.`
  // The error's text may hold data.
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return `${since}; it tries again and fails${code}. The service's log says more.`
}
