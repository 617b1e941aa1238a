import { Logger, makeWorkerUtils } from 'graphile-worker'

export const silent = new Logger(() => () => {})

/** Its schema, and so many jobs of the task. */
export async function fillGraphile(url: string, task: string, jobs: number): Promise<void> {
  const utils = await makeWorkerUtils({ connectionString: url, logger: silent })
  await utils.migrate()
  for (let from = 0; from < jobs; from += 1_000)
    await utils.addJobs(
      Array.from({ length: Math.min(1_000, jobs - from) }, (_, n) => ({ identifier: task, payload: { i: from + n } })),
    )
  await utils.release()
}

/** Its best for jobs that take no time. */
export const bigBatches = {
  concurrentJobs: 24,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}
