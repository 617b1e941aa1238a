import { run } from 'graphile-worker'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { asInstance, drainTogether, runUntilDrained, tellStart } from './instances.ts'
import { bigBatches, fillGraphile, silent } from './graphile.ts'
import { untilNone } from './until-none.ts'

await runStep({
  async prepare({ url, jobs }) {
    await fillGraphile(url, 'nothing', jobs)
  },
  async measure({ url, jobs, options }, meter) {
    // A job that is done is deleted.
    if (!asInstance)
      return drainTogether(import.meta.filename, { count: Number(options.processes), jobs }, meter, () =>
        untilNone(url, 'select from graphile_worker._private_jobs limit 1'),
      )
    const runner = await run({
      preset: {
        worker: { connectionString: url, logger: silent, ...bigBatches },
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
