import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { asInstance, drainTogether, runUntilDrained, tellStart } from './instances.ts'
import { untilNone } from './until-none.ts'

const silent = new Logger(() => () => {})

await runStep({
  async prepare({ url, jobs }) {
    const utils = await makeWorkerUtils({ connectionString: url, logger: silent })
    await utils.migrate()
    for (let from = 0; from < jobs; from += 1_000)
      await utils.addJobs(
        Array.from({ length: Math.min(1_000, jobs - from) }, (_, n) => ({
          identifier: 'nothing',
          payload: { i: from + n },
        })),
      )
    await utils.release()
  },
  async measure({ url, jobs, options }, meter) {
    // A job that is done is deleted.
    if (!asInstance)
      return drainTogether(import.meta.filename, { count: Number(options.processes), jobs }, meter, () =>
        untilNone(url, 'select from graphile_worker._private_jobs limit 1'),
      )
    const runner = await run({
      preset: {
        worker: {
          connectionString: url,
          logger: silent,
          concurrentJobs: 24,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      noHandleSignals: true,
      taskList: { nothing: async () => tellStart() },
    })
    return runUntilDrained(() => runner.stop())
  },
  async check({ url }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query('select from graphile_worker._private_jobs')
      if (rowCount !== 0) throw new Error(`${rowCount} jobs are left.`)
    })
  },
})
