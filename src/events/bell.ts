/** Wakes one waiter. A ring that nobody waits for is kept for the next wait. */
export interface Bell {
  ring(): void
  /** Until the bell rings, or so many milliseconds have passed. */
  wait(ms: number): Promise<void>
  /** Calls at the next ring, instead of waiting; at once where one was kept. */
  listen(hear: () => void): void
}

export function createBell(): Bell {
  let rung = false
  let wake: (() => void) | undefined
  let listener: (() => void) | undefined
  return {
    ring() {
      if (listener !== undefined) {
        const hear = listener
        listener = undefined
        return hear()
      }
      rung = true
      wake?.()
    },
    listen(hear) {
      if (!rung) {
        listener = hear
        return
      }
      rung = false
      hear()
    },
    wait(ms) {
      if (rung) {
        rung = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const timer = setTimeout(() => wake?.(), ms)
        wake = () => {
          clearTimeout(timer)
          wake = undefined
          rung = false
          resolve()
        }
      })
    },
  }
}
