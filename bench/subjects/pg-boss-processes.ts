import { PgBoss } from 'pg-boss'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { asInstance, drainTogether, runUntilDrained, tellStart } from './instances.ts'
import { untilNone } from './until-none.ts'

const open = async (url: string): Promise<PgBoss> => {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  return boss.start()
}

await runStep({
  async prepare({ url, jobs }) {
    const boss = await open(url)
    await boss.createQueue('nothing')
    for (let from = 0; from < jobs; from += 1_000)
      await boss.insert(
        'nothing',
        Array.from({ length: Math.min(1_000, jobs - from) }, (_, n) => ({ data: { i: from + n } })),
      )
    await boss.stop()
  },
  async measure({ url, jobs, options }, meter) {
    if (!asInstance)
      return drainTogether(import.meta.filename, { count: Number(options.processes), jobs }, meter, () =>
        untilNone(url, `select from pgboss.job where name = 'nothing' and state <> 'completed' limit 1`),
      )
    const boss = await open(url)
    const batches = { batchSize: 1_000, localConcurrency: 2, burstWhenBatchFull: true }
    await boss.work<{ i: number }>('nothing', batches, async (batch) => tellStart(batch.length))
    return runUntilDrained(() => boss.stop())
  },
  async check({ url, jobs }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query(`select from pgboss.job where name = 'nothing' and state = 'completed'`)
      if (rowCount !== jobs) throw new Error(`${rowCount} of ${jobs} jobs are completed.`)
    })
  },
})
