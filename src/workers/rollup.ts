import type { Pool } from 'pg'
import { alongIndexes } from '../db/along-indexes.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Events } from '../jobs/event.ts'
import { closeStatGaps } from '../sql/close-stat-gaps.ts'
import { countJobsByState } from '../sql/count-jobs-by-state.ts'
import { isQueueSampled } from '../sql/is-queue-sampled.ts'
import { readJournalWriters } from '../sql/read-journal-writers.ts'
import { rollUpJournal } from '../sql/roll-up-journal.ts'
import { sampleQueue } from '../sql/sample-queue.ts'
import type { Queryable } from '../sql/statement.ts'
import { tryStatisticsLock } from '../sql/try-statistics-lock.ts'
import { about, createLoop } from './loop.ts'
import { createPulses, type Pulses } from './pulses.ts'

/** Keeps the statistics: what the journal says of each minute, and how long the queue was in it. */
export interface Rollup {
  start(): void
  /** Counts what has come since; answers how many rows of the journal. Null: another instance is at it. */
  runOnce(): Promise<number | null>
  stop(): Promise<void>
}

interface RollupDeps {
  readonly pool: Pool
  readonly events: Events
  readonly pulses?: Pulses
  readonly everyMs: number
  /** Rows of the journal a transaction. */
  readonly batch?: number
  /** The rest is left to the next time when this one has taken so long. */
  readonly atMostMs?: number
}

/** Gaps that were seen, and who could still fill them. */
interface NotedGaps {
  readonly gaps: string
  readonly writers: ReadonlySet<string>
}

const noGaps = '{}'

/**
 * Rows are counted as they become visible. An id that is missing below a later one is remembered as a gap, beside the counts and in the
 * same transaction, so that a late commit is counted when it comes, and nothing twice, wherever the process ends. A gap is given up as the
 * relay does: when all who held the journal's lock after it was seen have ended, and one more look has not found it.
 */
export function createRollup({
  pool,
  events,
  pulses = createPulses(Infinity),
  everyMs,
  // Fewer passes, fewer rows of minutes touched twice: a third less than at 20,000.
  batch = 50_000,
  atMostMs = 5_000,
}: RollupDeps): Rollup {
  let stopped = false
  let noted: NotedGaps | null = null

  const alone = <Result>(work: (tx: Queryable) => Promise<Result>): Promise<Result | null> =>
    inTransaction(pool, async (tx) => {
      const [lock] = await tryStatisticsLock(tx)
      if (!lock!.taken) return null
      await alongIndexes(tx)
      // A batch in memory: 10 MB.
      await tx.query({ text: `set local work_mem = '32MB'` })
      return work(tx)
    })

  const writersNow = async (): Promise<ReadonlySet<string>> =>
    new Set((await readJournalWriters(pool)).map(({ writer }) => writer))

  const rollUp = async (): Promise<number | null> => {
    const startedAt = performance.now()
    const ripe = noted !== null && noted.writers.isDisjointFrom(await writersNow()) ? noted.gaps : null
    let rows = 0
    for (;;) {
      const done = await alone((tx) => rollUpJournal(tx, batch))
      if (done === null) return null
      const { more, gaps, rows: counted } = done[0]!
      rows += counted
      if (more && !stopped && performance.now() - startedAt < atMostMs) continue
      if (!more && ripe !== null) await closeStatGaps(pool, ripe)
      if (ripe !== null || noted === null) noted = gaps === noGaps ? null : { gaps, writers: await writersNow() }
      return rows
    }
  }

  const sample = (): Promise<unknown> =>
    alone(async (tx) => {
      const [asked] = await isQueueSampled(tx)
      if (asked!.sampled) return
      const pairs = new Map<string, Sample>()
      for (const { state, tenantId, kind, jobs } of await countJobsByState(tx)) {
        if (tenantId === null || (state !== 'due' && state !== 'running')) continue
        const key = `${tenantId} ${kind}`
        const pair = pairs.get(key) ?? { tenantId, kind, due: null, running: null }
        pairs.set(key, { ...pair, [state]: jobs })
      }
      const samples = [...pairs.values()]
      await sampleQueue(
        tx,
        samples.map(({ tenantId }) => tenantId),
        samples.map(({ kind }) => kind),
        samples.map(({ due }) => due),
        samples.map(({ running }) => running),
      )
    })

  const runOnce = async (): Promise<number | null> => {
    const rows = await rollUp()
    if (rows !== null) await sample()
    return rows
  }

  const loop = createLoop({
    name: 'statistics',
    events,
    pulse: pulses.of('roll-up of statistics'),
    retryAfterMs: everyMs,
    async turn() {
      await runOnce()
      return about(everyMs)
    },
  })

  return {
    start: loop.start,
    runOnce,
    async stop() {
      stopped = true
      await loop.stop()
    },
  }
}

interface Sample {
  readonly tenantId: string
  readonly kind: string
  readonly due: number | null
  readonly running: number | null
}
