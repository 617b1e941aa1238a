import type { DueKinds } from '../events/wakeup.ts'
import type { EnqueueInput } from '../sql/enqueue-job.ts'

/** What a transaction enqueues, as the wake-up after its commit tells it. */
export interface EnqueuedKinds {
  add(job: EnqueueInput): void
  /** Undefined: nothing was enqueued. */
  due(): DueKinds | undefined
}

export function createEnqueuedKinds(): EnqueuedKinds {
  const kinds = new Set<string>()
  let waits = false
  return {
    add({ kind, availableAt }) {
      kinds.add(kind)
      waits ||= availableAt !== undefined
    },
    due: () => (kinds.size === 0 ? undefined : waits ? null : kinds),
  }
}
