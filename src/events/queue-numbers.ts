import type { Pool } from 'pg'
import { alongIndexes } from '../db/along-indexes.ts'
import { inTransaction } from '../db/transaction.ts'
import { countJobsByState, type JobCount } from '../sql/count-jobs-by-state.ts'
import { readClock } from '../sql/read-clock.ts'
import { readQueueFlow, type QueueFlow } from '../sql/read-queue-flow.ts'
import { createBell } from './bell.ts'
import { patiently } from './patiently.ts'
import { createStream, type Stream } from './stream.ts'

/** The queue's numbers by tenant and kind, of every tenant: who shows them leaves out what the caller may not see. */
export interface QueueReading {
  /** When measured, by the database's clock. */
  readonly at: Date
  readonly counts: readonly (JobCount & { readonly tenantId: string })[]
  readonly flow: readonly QueueFlow[]
  /** What was made of this reading is made once for all who ask for the same. */
  share<Made>(key: string, make: () => Made): Made
}

export interface QueueNumbers {
  /** Not older than a second; made once however many ask. */
  read(): Promise<QueueReading>
  /** The numbers at once, then at every tick; a reader that is slow misses ticks. */
  watch(everyMs: number): Stream<QueueReading>
  openStreams(): number
  /** Ends all streams. */
  stop(): void
}

const lastsMs = 1_000

/** One reading of the queue for all queries and subscriptions of the process. */
export function createQueueNumbers(pool: Pool): QueueNumbers {
  const streams = new Set<Stream<QueueReading>>()
  let latest: { readonly startedAt: number; readonly reading: Promise<QueueReading> } | undefined

  const readSince = (notBefore: number): Promise<QueueReading> => {
    if (latest !== undefined && latest.startedAt >= notBefore) return latest.reading
    const mine = { startedAt: performance.now(), reading: readNow(pool) }
    latest = mine
    // A failure is nobody's numbers for a second.
    mine.reading.catch(() => latest === mine && (latest = undefined))
    return mine.reading
  }

  return {
    read: () => readSince(performance.now() - lastsMs),
    watch(everyMs) {
      const bell = createBell()
      let left = false
      let dueAt: number | undefined
      const stream: Stream<QueueReading> = createStream({
        async pull() {
          const first = dueAt === undefined
          // Ticks of all streams fall together, so that one reading serves them.
          dueAt = (Math.floor(performance.now() / everyMs) + 1) * everyMs
          const notBefore = first ? performance.now() - lastsMs : dueAt
          while (!first && !left && performance.now() < dueAt) await bell.wait(dueAt - performance.now())
          if (left) return undefined
          const reading = await patiently(
            () => readSince(notBefore),
            () => left,
          )
          return left ? undefined : reading
        },
        release() {
          left = true
          streams.delete(stream)
          bell.ring()
        },
      })
      streams.add(stream)
      return stream
    },
    openStreams: () => streams.size,
    stop() {
      for (const stream of streams) void stream.return()
    },
  }
}

function readNow(pool: Pool): Promise<QueueReading> {
  return inTransaction(pool, async (tx) => {
    await alongIndexes(tx)
    const [clock] = await readClock(tx)
    const counts = await countJobsByState(tx)
    const flow = await readQueueFlow(tx)
    const made = new Map<string, unknown>()
    return {
      at: clock!.now,
      counts: counts.filter((count) => count.tenantId !== null),
      flow,
      share<Made>(key: string, make: () => Made) {
        if (!made.has(key)) made.set(key, make())
        return made.get(key) as Made
      },
    }
  })
}
