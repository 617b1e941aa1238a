import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { createPickupSamples } from './pickup-samples.ts'

const silent = new Logger(() => () => {})

await runStep({
  async prepare({ url }) {
    const utils = await makeWorkerUtils({ connectionString: url, logger: silent })
    await utils.migrate()
    await utils.release()
  },
  async measure({ url, jobs }, meter) {
    const samples = createPickupSamples(jobs, meter)
    const runner = await run({
      preset: { worker: { connectionString: url, logger: silent, concurrentJobs: 4 } },
      noHandleSignals: true,
      taskList: { pickup: async (payload) => samples.started((payload as { i: number }).i) },
    })
    const figures = await samples.take((i) => runner.addJob('pickup', { i }))
    await runner.stop()
    return figures
  },
  async check({ url }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query('select from graphile_worker._private_jobs')
      if (rowCount !== 0) throw new Error(`${rowCount} jobs are left.`)
    })
  },
})
