import type { InstanceRow } from '../sql/read-instances.ts'
import type { WorkerRow } from '../sql/read-workers.ts'

export type WorkerState = 'IDLE' | 'BUSY' | 'DRAINING' | 'LOST'

/** Three heartbeats missed: its work is about to be taken over. */
const lostAfterMs = 15_000

/** What a worker is doing; `instance` is null when the database has given it up. */
export function workerState(worker: WorkerRow, instance: InstanceRow | null): WorkerState {
  if (instance === null || instance.silentMs > lostAfterMs) return 'LOST'
  if (instance.draining) return 'DRAINING'
  return worker.busy > 0 ? 'BUSY' : 'IDLE'
}
