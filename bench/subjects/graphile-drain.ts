import { run } from 'graphile-worker'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { bigBatches, fillGraphile, silent } from './graphile.ts'
import { untilNone } from './until-none.ts'

await runStep({
  async prepare({ url, jobs }) {
    await fillGraphile(url, 'nothing', jobs)
  },
  async measure({ url, jobs, options }, meter) {
    const seen = new Uint8Array(jobs)
    let started = 0
    const all = Promise.withResolvers<void>()
    const runner = await run({
      preset: {
        worker: {
          connectionString: url,
          logger: silent,
          ...(options.batching === 'on' ? bigBatches : { concurrentJobs: 4 }),
        },
      },
      noHandleSignals: true,
      taskList: {
        nothing: async (payload) => {
          if (started === 0) meter.begin()
          started += 1
          seen[(payload as { i: number }).i]! += 1
          if (started === jobs) all.resolve()
        },
      },
    })
    await all.promise
    // A job that is done is deleted.
    await untilNone(url, 'select from graphile_worker._private_jobs limit 1')
    const figures = meter.end()
    await runner.stop()
    if (!seen.every((times) => times === 1)) throw new Error('Not each job was run exactly once.')
    return figures
  },
  async check({ url }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query('select from graphile_worker._private_jobs')
      if (rowCount !== 0) throw new Error(`${rowCount} jobs are left.`)
    })
  },
})
