import pg, { type Pool, type QueryConfig } from 'pg'
import { databaseFault } from '../jobs/database-fault.ts'
import type { Wakeup } from '../events/wakeup.ts'
import { DatabaseUnavailable } from '../jobs/errors.ts'
import { ranges } from '../jobs/ranges.ts'
import { enqueueBatch, type BatchColumns, type BatchedJob } from '../sql/enqueue-batch.ts'
import type { EnqueueOutcome } from '../sql/enqueue-job.ts'
import type { JobRow } from '../sql/job-row.ts'
import { plainList } from '../sql/settle-parts.ts'
import type { Queryable } from '../sql/statement.ts'
import type { EnqueueOrder } from './enqueue-order.ts'
import { newJobRow } from './new-job-row.ts'

/** `job` is the new job's row as it stood at the commit; null where the job is older than the call. */
export type EnqueueAnswer =
  | { readonly type: 'enqueued'; readonly outcome: EnqueueOutcome; readonly jobId: string; readonly job: JobRow | null }
  | { readonly type: 'refused'; readonly message: string }

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
}

interface Waiting {
  readonly order: EnqueueOrder
  readonly answered: (answer: EnqueueAnswer) => void
  readonly failed: (error: unknown) => void
}

const statementWithinMs = 4_500
const triesOnConflict = 5

/** Natural group commit: single orders that arrive while a statement is under way share the next one and its commit. */
export function createEnqueuer({ pool, wakeup }: EnqueuerDeps): Enqueuer {
  let waiting: Waiting[] = []
  let flushing = false

  const write = async (orders: readonly EnqueueOrder[], judge: Judge = keepAlways): Promise<EnqueueAnswer[]> => {
    const rows = await writeBatch(pool, orders, judge)
    if (rows.some(({ outcome }) => outcome === 'created' || outcome === 'updated')) {
      wakeup.signal('work')
      wakeup.signal('journal')
    }
    return rows.map((row, i) => ({
      type: 'enqueued',
      outcome: row.outcome,
      jobId: row.jobId,
      job: row.outcome === 'created' ? newJobRow(orders[i]!, row, rows[0]!.createdMs!) : null,
    }))
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

  const flush = async (): Promise<void> => {
    flushing = true
    while (waiting.length > 0) {
      const group = waiting.splice(0, ranges.enqueueAtOnce.max)
      try {
        const answers = await writeEach(group.map(({ order }) => order))
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

/** Looks at a batch before its commit; what it throws rolls the batch back. Null: nothing can be wrong, the statement commits itself. */
type Judge = (orders: readonly EnqueueOrder[]) => ((rows: readonly BatchedJob[]) => void) | null

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
async function writeBatch(pool: Pool, orders: readonly EnqueueOrder[], judge: Judge): Promise<BatchedJob[]> {
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
  judge: ((rows: readonly BatchedJob[]) => void) | null,
): Promise<BatchedJob[]> {
  const started = performance.now()
  const client = await pool.connect().catch((error: unknown) => {
    throw databaseFault(error) === 'unavailable' ? new DatabaseUnavailable({ cause: error }) : error
  })
  const leftMs = () => Math.max(100, statementWithinMs - (performance.now() - started))
  const bounded: Queryable = { query: (config) => client.query({ ...config, query_timeout: leftMs() } as QueryConfig) }
  let broken: Error | undefined
  try {
    if (judge === null) return await enqueueBatch(bounded, ...columnsOf(orders))
    await bounded.query({ text: 'begin' })
    try {
      const rows = await enqueueBatch(bounded, ...columnsOf(orders))
      judge(rows)
      await bounded.query({ text: 'commit' })
      return rows
    } catch (error) {
      if (databaseFault(error) !== 'unavailable') await bounded.query({ text: 'rollback' })
      throw error
    }
  } catch (error) {
    if (databaseFault(error) !== 'unavailable') throw error
    broken = error as Error
    throw new DatabaseUnavailable({ cause: error, outcomeUnknown: mayBeCommitted(error) })
  } finally {
    client.release(broken)
  }
}

function columnsOf(orders: readonly EnqueueOrder[]): BatchColumns {
  const [{ actor, requestId }] = orders as [EnqueueOrder]
  const ofOneCall = orders.every((order) => order.actor === actor && order.requestId === requestId)
  return [
    plainList(orders.map((order) => order.tenantId)),
    orders.map((order) => order.kind),
    orders.map((order) => order.payloadText),
    mostlyNull(orders, (order) => order.priority),
    mostlyNull(orders, ({ schedule }) => (schedule !== null && 'at' in schedule ? schedule.at.toISOString() : null)),
    mostlyNull(orders, ({ schedule }) => (schedule !== null && 'afterMs' in schedule ? schedule.afterMs : null)),
    mostlyNull(orders, (order) => order.maxAttempts),
    mostlyNull(orders, (order) => order.idempotencyKey),
    orders.some((order) => order.replaces) ? orders.map((order) => order.replaces) : [],
    mostlyNull(orders, (order) => extraOf(order, ofOneCall)),
    ofOneCall ? actor : null,
    ofOneCall ? requestId : null,
  ]
}

/** A column that is null as a rule is then sent empty: to write a null into an array takes pg 0.5 us. */
function mostlyNull<Value>(
  orders: readonly EnqueueOrder[],
  valueOf: (order: EnqueueOrder) => Value | null,
): (Value | null)[] {
  const values = orders.map(valueOf)
  return values.some((value) => value !== null) ? values : []
}

/** What is rare; and who called, where the statement has rows of several callers. */
function extraOf(order: EnqueueOrder, ofOneCall: boolean): string | null {
  const extra = {
    ...(!ofOneCall && { actor: order.actor, request_id: order.requestId }),
    ...(order.tags.length > 0 && { tags: order.tags }),
    ...(order.correlationId !== null && { correlation_id: order.correlationId }),
    ...(order.traceContext !== null && { trace_context: order.traceContext }),
  }
  return Object.keys(extra).length === 0 ? null : JSON.stringify(extra)
}

/** It had been sent: unless the server itself said that it was not done, it may have been committed before the connection broke. */
function mayBeCommitted(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(?:08|57P)/.test(error.code ?? '')
}

/** mdm.enqueue_batch says which row it refuses; other refusals (a check, an encoding) are known only of the whole. */
function refusalOf(error: unknown): { index: number; message: string } {
  const { code, message, detail } = error as Error & { code: string; detail?: string }
  if (code !== '22023')
    return { index: 0, message: 'The database refuses this job: a value has a form that it cannot store.' }
  const text = message.replace(/^job \d+ of the batch: /, '')
  return { index: Number(detail ?? 0), message: `${text.charAt(0).toUpperCase()}${text.slice(1)}.` }
}
