import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { fillBoss, openBoss } from './pg-boss.ts'
import { untilNone } from './until-none.ts'
import { checkRows, createWork, ownPool, rowTable, waitForIo, workOf } from './worked-jobs.ts'

await runStep({
  async prepare({ url, jobs }) {
    await fillBoss(url, 'work', jobs)
    await withClient(url, (client) => client.query(rowTable))
  },
  async measure(given, meter) {
    const work = createWork(given.jobs)
    work.onFirst(() => meter.begin())
    const boss = await openBoss(given.url)
    const pool = ownPool(given.url)
    const slots = Number(given.options.slots)
    // A batch runs as one: as many jobs at once as there are slots, in two batches that take turns.
    await boss.work<{ i: number }>(
      'work',
      { batchSize: Math.ceil(slots / 2), localConcurrency: 2, burstWhenBatchFull: true },
      async (batch) => {
        await Promise.all(
          batch.map(async ({ data: { i } }) => {
            void work.run(i)
            if (workOf(given) === 'wait') await waitForIo()
            else await pool.query('insert into bench_row (job_number) values ($1)', [i])
          }),
        )
      },
    )
    await work.all
    await untilNone(given.url, `select from pgboss.job where name = 'work' and state <> 'completed' limit 1`)
    const figures = meter.end()
    await boss.stop()
    await pool.end()
    return figures
  },
  check: checkRows,
})
