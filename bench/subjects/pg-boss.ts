import { PgBoss } from 'pg-boss'

/** Its schema is made where there is none. */
export async function openBoss(url: string): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  return boss.start()
}

/** A queue with so many jobs. */
export async function fillBoss(url: string, queue: string, jobs: number): Promise<void> {
  const boss = await openBoss(url)
  await boss.createQueue(queue)
  for (let from = 0; from < jobs; from += 1_000)
    await boss.insert(
      queue,
      Array.from({ length: Math.min(1_000, jobs - from) }, (_, n) => ({ data: { i: from + n } })),
    )
  await boss.stop()
}

/** Its best for jobs that take no time. */
export const bigBatches = { batchSize: 1_000, localConcurrency: 2, burstWhenBatchFull: true }
