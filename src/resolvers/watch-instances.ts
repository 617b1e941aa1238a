import { listInstances } from '../sql/list-instances.ts'
import { readHands, type Hand } from '../sql/read-hands.ts'
import type { InstanceRow } from '../sql/read-instances.ts'
import { authorize, type RequestContext } from './context.ts'
import { openStream } from './open-stream.ts'

/** What is to be seen of the instances. */
export interface InstancesNow {
  readonly instances: readonly InstanceRow[]
  readonly hands: readonly Hand[]
}

const leastMs = 1_000

/** The living instances at once, then whenever one came, went, gave a sign of life, or its workers took or ended jobs; at most once a second. */
export async function watchInstances(context: RequestContext): Promise<AsyncIterableIterator<InstancesNow>> {
  authorize(context, [['READ_JOBS']])
  const { pools, relay, deadAfterMs } = context.deps
  const read = async (): Promise<InstancesNow> => {
    const instances = await listInstances(pools.api, deadAfterMs)
    const ids = instances.map(({ id }) => id)
    return { instances, hands: await readHands(pools.api, ids) }
  }
  const stream = relay.watchState({ read, isSame, isLast: () => false, topic: 'journal', leastMs, pollMs: leastMs })
  return openStream(stream, { speaksAtOnce: true })
}

function isSame(told: InstancesNow, now: InstancesNow): boolean {
  return markOf(told) === markOf(now)
}

/** How long somebody has been silent grows by itself: that is no change. */
function markOf({ instances, hands }: InstancesNow): string {
  return JSON.stringify([instances.map((instance) => ({ ...instance, silentMs: 0 })), hands])
}
