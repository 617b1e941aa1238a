import { setImmediate as untilAllIsRead } from 'node:timers/promises'
import pg, { type Pool, type QueryConfig } from 'pg'
import { databaseFault } from '../jobs/database-fault.ts'
import type { DueKinds, Wakeup } from '../events/wakeup.ts'
import { DatabaseUnavailable } from '../jobs/errors.ts'
import { ranges } from '../jobs/ranges.ts'
import { enqueueClaimed, type StartAtOnce } from '../sql/enqueue-claimed.ts'
import { enqueueOrders } from '../sql/enqueue-orders.ts'
import type { Queryable } from '../sql/statement.ts'
import { enqueueAnswers, type EnqueueAnswer, type EnqueuedAnswer } from './enqueue-answers.ts'
import type { EnqueueOrder } from './enqueue-order.ts'
import { claimedJobRow } from './new-job-row.ts'
import { extraOf, orderColumns, orderPairs } from './order-columns.ts'

export type BulkAnswer =
  | { readonly type: 'enqueued'; readonly answers: readonly EnqueueAnswer[] }
  /** One of them cannot go in, so that none did. */
  | { readonly type: 'refused'; readonly index: number; readonly message: string }
  /** Keys of some exist with other payloads, so that none went in. */
  | { readonly type: 'mismatched'; readonly jobs: readonly { readonly index: number; readonly jobId: string }[] }

/** Each answer comes after the commit. All throw DatabaseUnavailable when the database is away, within 5 seconds. */
export interface Enqueuer {
  enqueue(order: EnqueueOrder): Promise<EnqueueAnswer>
  /** Good ones go in, bad ones get their message. */
  enqueueEach(orders: readonly EnqueueOrder[]): Promise<EnqueueAnswer[]>
  /** All or none, in one statement: at most 1,000. */
  enqueueAll(orders: readonly EnqueueOrder[]): Promise<BulkAnswer>
}

interface EnqueuerDeps {
  /** Statements of single orders are made one after the other, and what arrives meanwhile shares the next; bulks go beside them. */
  readonly pool: Pool
  readonly wakeup: Wakeup
  /** The workers of this process, if it has any: an order that comes alone may go in claimed for a free slot. */
  readonly startAtOnce?: StartAtOnce
}

interface Waiting {
  readonly order: EnqueueOrder
  readonly answered: (answer: EnqueueAnswer) => void
  readonly failed: (error: unknown) => void
}

const statementWithinMs = 4_500
const triesOnConflict = 5

/** Natural group commit: single orders that arrive while a statement is under way share the next one and its commit. */
export function createEnqueuer({ pool, wakeup, startAtOnce }: EnqueuerDeps): Enqueuer {
  let waiting: Waiting[] = []
  let flushing = false

  const write = async (orders: readonly EnqueueOrder[], judge: Judge = keepAlways): Promise<EnqueueAnswer[]> => {
    const answers = await writeBatch(pool, orders, judge)
    if (answers.some(({ outcome }) => outcome === 'created' || outcome === 'updated')) {
      wakeup.signal('work', dueKindsOf(orders))
      wakeup.signal('journal')
    }
    return answers
  }

  /** One bad row harms nobody: the batch is halved until it stands alone. */
  const writeEach = async (orders: readonly EnqueueOrder[]): Promise<EnqueueAnswer[]> => {
    try {
      return await write(orders)
    } catch (error) {
      if (databaseFault(error) !== 'data') throw error
      if (orders.length === 1) return [{ type: 'refused', message: refusalOf(error).message }]
      const middle = Math.ceil(orders.length / 2)
      return [...(await writeEach(orders.slice(0, middle))), ...(await writeEach(orders.slice(middle)))]
    }
  }

  /** Null: it cannot go in claimed, or not at all; then it goes as others do, and the answer to that holds. */
  const writeClaimed = async (order: EnqueueOrder): Promise<EnqueueAnswer | null> => {
    if (order.schedule !== null || order.idempotencyKey !== null) return null
    let worker: string
    const answer = startAtOnce?.(order, (claimer) => {
      worker = claimer.worker
      const { tenantId, kind, payloadText, priority, maxAttempts, actor, requestId } = order
      const { instanceId, lease } = claimer
      return onSession(pool, (db) =>
        enqueueClaimed(
          db,
          ...([tenantId, kind, payloadText, priority, maxAttempts, extraOf(order, true), actor, requestId] as const),
          ...([worker, instanceId, lease] as const),
        ),
      )
    })
    if (!answer) return null
    try {
      const [row] = await answer
      if (row === undefined) return null
      return { type: 'enqueued', outcome: 'created', jobId: row[0], job: () => claimedJobRow(order, row, worker!) }
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      return null
    }
  }

  const flush = async (): Promise<void> => {
    flushing = true
    while (waiting.length > 0) {
      // What this turn of the loop still reads goes along: 32 callers at once make a seventh fewer commits.
      await untilAllIsRead()
      const group = waiting.splice(0, ranges.enqueueAtOnce.max)
      try {
        const alone = group.length === 1 ? await writeClaimed(group[0]!.order) : null
        const answers = alone === null ? await writeEach(group.map(({ order }) => order)) : [alone]
        group.forEach(({ answered }, i) => answered(answers[i]!))
      } catch (error) {
        for (const { failed } of group) failed(error)
        // Who waits behind a server that is away would wait for as long again.
        if (error instanceof DatabaseUnavailable) {
          for (const { failed } of waiting) failed(new DatabaseUnavailable({ cause: error }))
          waiting = []
        }
      }
    }
    flushing = false
  }

  return {
    enqueue(order) {
      const { promise, resolve, reject } = Promise.withResolvers<EnqueueAnswer>()
      waiting.push({ order, answered: resolve, failed: reject })
      if (!flushing) void flush()
      return promise
    },
    async enqueueEach(orders) {
      return orders.length === 0 ? [] : writeEach(orders)
    },
    async enqueueAll(orders) {
      try {
        return { type: 'enqueued', answers: await write(orders, refuseMismatches) }
      } catch (error) {
        if (error instanceof KeysMismatched) return { type: 'mismatched', jobs: error.jobs }
        if (databaseFault(error) !== 'data') throw error
        return { type: 'refused', ...refusalOf(error) }
      }
    },
  }
}

/** Null: some wait for their time. */
function dueKindsOf(orders: readonly EnqueueOrder[]): DueKinds {
  return orders.every(({ schedule }) => schedule === null) ? new Set(orders.map(({ kind }) => kind)) : null
}

/** Looks at a batch before its commit; what it throws rolls the batch back. Null: nothing can be wrong, the statement commits itself. */
type Judge = (orders: readonly EnqueueOrder[]) => ((rows: readonly EnqueuedAnswer[]) => void) | null

class KeysMismatched extends Error {
  readonly jobs: readonly { readonly index: number; readonly jobId: string }[]
  constructor(jobs: KeysMismatched['jobs']) {
    super('Keys exist with other payloads.')
    this.jobs = jobs
  }
}

const keepAlways: Judge = () => null

const refuseMismatches: Judge = (orders) => {
  if (orders.every(({ idempotencyKey }) => idempotencyKey === null)) return null
  return (rows) => {
    const mismatched = rows.flatMap(({ outcome, jobId }, index) =>
      outcome === 'duplicate_mismatch' ? [{ index, jobId }] : [],
    )
    if (mismatched.length > 0) throw new KeysMismatched(mismatched)
  }
}

/** Writes and commits one batch. A conflict with other bulks rolled it back whole: it is made again. */
async function writeBatch(pool: Pool, orders: readonly EnqueueOrder[], judge: Judge): Promise<EnqueuedAnswer[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await sendBatch(pool, orders, judge(orders))
    } catch (error) {
      if (databaseFault(error) !== 'conflict' || attempt === triesOnConflict) throw error
    }
  }
}

async function sendBatch(
  pool: Pool,
  orders: readonly EnqueueOrder[],
  judge: ((rows: readonly EnqueuedAnswer[]) => void) | null,
): Promise<EnqueuedAnswer[]> {
  const pairs = orderPairs(orders)
  const columns = orderColumns(orders, pairs)
  return onSession(pool, async (db) => {
    const write = async () => enqueueAnswers(orders, pairs, (await enqueueOrders(db, ...columns))[0]!)
    if (judge === null) return write()
    await db.query({ text: 'begin' })
    try {
      const answers = await write()
      judge(answers)
      await db.query({ text: 'commit' })
      return answers
    } catch (error) {
      if (databaseFault(error) !== 'unavailable') await db.query({ text: 'rollback' })
      throw error
    }
  })
}

/** Runs statements on one session, within the time that a caller waits for them. */
async function onSession<Rows>(pool: Pool, run: (db: Queryable) => Promise<Rows>): Promise<Rows> {
  const started = performance.now()
  const client = await pool.connect().catch((error: unknown) => {
    throw databaseFault(error) === 'unavailable' ? new DatabaseUnavailable({ cause: error }) : error
  })
  const leftMs = () => Math.max(100, statementWithinMs - (performance.now() - started))
  let broken: Error | undefined
  try {
    return await run({ query: (config) => client.query({ ...config, query_timeout: leftMs() } as QueryConfig) })
  } catch (error) {
    if (databaseFault(error) !== 'unavailable') throw error
    broken = error as Error
    throw new DatabaseUnavailable({ cause: error, outcomeUnknown: mayBeCommitted(error) })
  } finally {
    client.release(broken)
  }
}

/** It had been sent: unless the server itself said that it was not done, it may have been committed before the connection broke. */
function mayBeCommitted(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(?:08|57P)/.test(error.code ?? '')
}

/** mdm.enqueue_orders says which row it refuses; other refusals (a check, an encoding) are known only of the whole. */
function refusalOf(error: unknown): { index: number; message: string } {
  const { code, message, detail } = error as Error & { code: string; detail?: string }
  if (code !== '22023')
    return { index: 0, message: 'The database refuses this job: a value has a form that it cannot store.' }
  const text = message.replace(/^job \d+ of the batch: /, '')
  return { index: Number(detail ?? 0), message: `${text.charAt(0).toUpperCase()}${text.slice(1)}.` }
}
