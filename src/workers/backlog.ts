/** Counts what waits for its commit. */
export interface Backlog {
  add(): void
  done(count: number): void
  pending(): number
  /** Resolves when at most so many wait. */
  below(most: number): Promise<void>
}

export function createBacklog(): Backlog {
  const waiters = new Set<{ readonly most: number; readonly resolve: () => void }>()
  let count = 0
  return {
    add() {
      count += 1
    },
    done(ended) {
      count -= ended
      for (const waiter of waiters) {
        if (count > waiter.most) continue
        waiters.delete(waiter)
        waiter.resolve()
      }
    },
    pending: () => count,
    below: (most) => (count <= most ? Promise.resolve() : new Promise((resolve) => waiters.add({ most, resolve }))),
  }
}
