import type { EnqueueOutcome } from '../sql/enqueue-job.ts'
import type { OrdersAnswer } from '../sql/enqueue-orders.ts'
import type { JobRow } from '../sql/job-row.ts'
import type { EnqueueOrder } from './enqueue-order.ts'
import { newJobRow } from './new-job-row.ts'
import type { OrderPairs } from './order-columns.ts'

/** What became of one order that the database took. */
export interface EnqueuedAnswer {
  readonly type: 'enqueued'
  readonly outcome: EnqueueOutcome
  readonly jobId: string
  /**
   * Makes the new job's row as it stood at the commit; null where the job is older than the call, or has to be read. Made for whoever asks: the rows
   * of a thousand were a third of what Node took for them.
   */
  readonly job: (() => JobRow) | null
}

export type EnqueueAnswer = EnqueuedAnswer | { readonly type: 'refused'; readonly message: string }

/** The answers to orders, in their order. */
export function enqueueAnswers(
  orders: readonly EnqueueOrder[],
  pairs: OrderPairs,
  told: OrdersAnswer,
): EnqueuedAnswer[] {
  const { idStem, idTail, places, ids, outcomes } = told
  const apart = new Map(
    places?.map((place, i) => [
      place,
      { type: 'enqueued', outcome: outcomes![i]!, jobId: ids![i]!, job: null } as const,
    ]),
  )
  const stored = storedJobs(pairs, told)
  let created = 0
  return orders.map((order, i) => {
    const old = apart.get(i + 1)
    if (old !== undefined) return old
    const jobId = `${idStem}${(idTail + i + 1).toString(16).padStart(6, '0')}`
    const line = created++
    return {
      type: 'enqueued',
      outcome: 'created',
      jobId,
      job: () => newJobRow(order, { jobId, ...stored(order, i, line) }),
    }
  })
}

/** What the database made of a new job, by its place and its line among the payloads. */
function storedJobs(pairs: OrderPairs, { createdMs, priorities, maxAttempts, payloads }: OrdersAnswer) {
  let lines: readonly string[] | undefined
  return ({ priority, maxAttempts: attempts, schedule }: EnqueueOrder, i: number, line: number) => {
    const pair = (pairs.of[i] ?? 1) - 1
    return {
      createdMs,
      availableMs:
        schedule === null ? createdMs : 'at' in schedule ? schedule.at.getTime() : createdMs + schedule.afterMs,
      payloadText: (lines ??= payloads!.split('\n'))[line]!,
      priority: priority ?? priorities![pair]!,
      maxAttempts: attempts ?? maxAttempts![pair]!,
    }
  }
}
