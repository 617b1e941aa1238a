import { createStream, type Stream } from '../events/stream.ts'
import { ApiError } from './api-error.ts'
import { authorize, type RequestContext } from './context.ts'
import { openStream } from './open-stream.ts'
import { tickOf, type QueueStatsTick } from './queue-stats.ts'
import { narrowStats, type StatsDimension, type StatsFilterInput } from './stats-filter.ts'

interface WatchQueueStatsInput {
  readonly filter?: StatsFilterInput | null | undefined
  readonly groupBy: readonly StatsDimension[]
  /** In milliseconds. */
  readonly every: number
}

const leastMs = 1_000
const mostMs = 60_000

/** The queue's numbers at once, then at every tick. A tick is measured once, however many watch. */
export async function watchQueueStats(
  { filter, groupBy, every }: WatchQueueStatsInput,
  context: RequestContext,
): Promise<AsyncIterableIterator<QueueStatsTick>> {
  const caller = authorize(context, [['READ_JOBS']])
  if (every < leastMs || every > mostMs)
    throw new ApiError('BAD_USER_INPUT', '`every` lies between PT1S and PT1M.', { reason: 'INVALID' })
  const scope = await narrowStats(filter, groupBy, caller, context)
  const readings = context.deps.queueNumbers.watch(every)
  const ticks: Stream<QueueStatsTick> = createStream({
    async pull() {
      const { done, value } = await readings.next()
      return done === true ? undefined : tickOf(value, scope, context)
    },
    release: () => void readings.return(),
  })
  return openStream(ticks, { speaksAtOnce: true })
}
