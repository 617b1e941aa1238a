import type { InstanceRow } from '../sql/read-instances.ts'
import type { WorkerRow } from '../sql/read-workers.ts'
import type { RequestContext } from './context.ts'

export type WorkerState = 'IDLE' | 'BUSY' | 'DRAINING' | 'LOST'

/** Three heartbeats missed: its work is about to be taken over. */
const lostAfterMs = 15_000

/** What a worker is doing; an instance that the database has given up has none any more. */
export async function workerState(worker: WorkerRow, context: RequestContext): Promise<WorkerState> {
  const instance: InstanceRow | null =
    worker.instanceId === null ? null : await context.loaders.instances.load(worker.instanceId)
  if (instance === null || instance.silentMs > lostAfterMs) return 'LOST'
  if (instance.draining) return 'DRAINING'
  return (await busySlots(worker, context)) > 0 ? 'BUSY' : 'IDLE'
}

/** How many of its slots are taken; what waits before them in a buffer takes none. */
export async function busySlots({ id, slots }: WorkerRow, { loaders }: RequestContext): Promise<number> {
  return Math.min((await loaders.jobsInHand.load(String(id)))?.jobs ?? 0, slots)
}
