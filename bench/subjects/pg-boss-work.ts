import { PgBoss } from 'pg-boss'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { untilNone } from './until-none.ts'
import { checkRows, createWork, ownPool, rowTable, waitForIo, workOf } from './worked-jobs.ts'

const open = async (url: string): Promise<PgBoss> => {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  return boss.start()
}

await runStep({
  async prepare({ url, jobs }) {
    const boss = await open(url)
    await boss.createQueue('work')
    await withClient(url, (client) => client.query(rowTable))
    for (let from = 0; from < jobs; from += 1_000)
      await boss.insert(
        'work',
        Array.from({ length: Math.min(1_000, jobs - from) }, (_, n) => ({ data: { i: from + n } })),
      )
    await boss.stop()
  },
  async measure(given, meter) {
    const work = createWork(given.jobs)
    work.onFirst(() => meter.begin())
    const boss = await open(given.url)
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
