import { run } from 'graphile-worker'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { fillGraphile, silent } from './graphile.ts'
import { untilNone } from './until-none.ts'
import { checkRows, createWork, rowTable, waitForIo, workOf } from './worked-jobs.ts'

await runStep({
  async prepare({ url, jobs }) {
    await fillGraphile(url, 'work', jobs)
    await withClient(url, (client) => client.query(rowTable))
  },
  async measure(given, meter) {
    const work = createWork(given.jobs)
    work.onFirst(() => meter.begin())
    const slots = Number(given.options.slots)
    const runner = await run({
      preset: {
        worker: {
          connectionString: given.url,
          logger: silent,
          concurrentJobs: slots,
          localQueue: { size: Math.max(500, slots * 2) },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      noHandleSignals: true,
      taskList: {
        work: async (payload, helpers) => {
          const { i } = payload as { i: number }
          void work.run(i)
          if (workOf(given) === 'wait') await waitForIo()
          else await helpers.query('insert into bench_row (job_number) values ($1)', [i])
        },
      },
    })
    await work.all
    await untilNone(given.url, 'select from graphile_worker._private_jobs limit 1')
    const figures = meter.end()
    await runner.stop()
    return figures
  },
  check: checkRows,
})
