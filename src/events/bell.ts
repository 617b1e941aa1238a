/** Wakes one waiter. A ring that nobody waits for is kept for the next wait. */
export interface Bell {
  ring(): void
  /** Until the bell rings, or so many milliseconds have passed. */
  wait(ms: number): Promise<void>
}

export function createBell(): Bell {
  let rung = false
  let wake: (() => void) | undefined
  return {
    ring() {
      rung = true
      wake?.()
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
