import type { JobUpdate, JobUpdateBatch } from '../../src/events/job-update.ts'
import type { Stream } from '../../src/events/stream.ts'

/** `<job>:<revision>:<type>` of each event of a batch. */
export function namesOf(batch: JobUpdateBatch): string[] {
  return batch.updates.flatMap(({ event }) =>
    event === null ? [] : [`${event.jobId}:${event.revision}:${event.type}`],
  )
}

/** Pulls until one of the names came, and hands on each batch; a stream that ends before is an error. */
export async function pullUntil(
  stream: Stream<JobUpdateBatch>,
  last: (name: string) => boolean,
  each: (batch: JobUpdateBatch) => void,
): Promise<void> {
  for (;;) {
    const { value, done } = await stream.next()
    if (done === true) throw new Error('The stream ended before the awaited event came.')
    each(value)
    if (namesOf(value).some(last)) return
  }
}

/** All names up to one of them. */
export async function namesUntil(stream: Stream<JobUpdateBatch>, last: (name: string) => boolean): Promise<string[]> {
  const names: string[] = []
  await pullUntil(stream, last, (batch) => names.push(...namesOf(batch)))
  return names
}

/** Everything until the stream ends by itself. */
export async function toItsEnd(stream: Stream<JobUpdate>): Promise<JobUpdate[]> {
  const updates: JobUpdate[] = []
  for await (const update of stream) updates.push(update)
  return updates
}

/** `SNAPSHOT 1`, `CLAIMED 2`, ... */
export function stepsOf(updates: readonly JobUpdate[]): string[] {
  return updates.map(({ type, event, job }) =>
    event === null ? `${type} ${job?.revision ?? 'gone'}` : `${event.type} ${event.revision}`,
  )
}
