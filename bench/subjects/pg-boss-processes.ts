import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { asInstance, drainTogether, runUntilDrained, tellStart } from './instances.ts'
import { bigBatches, fillBoss, openBoss } from './pg-boss.ts'
import { untilNone } from './until-none.ts'

await runStep({
  async prepare({ url, jobs }) {
    await fillBoss(url, 'nothing', jobs)
  },
  async measure({ url, jobs, options }, meter) {
    if (!asInstance)
      return drainTogether(import.meta.filename, { count: Number(options.processes), jobs }, meter, () =>
        untilNone(url, `select from pgboss.job where name = 'nothing' and state <> 'completed' limit 1`),
      )
    const boss = await openBoss(url)
    await boss.work<{ i: number }>('nothing', bigBatches, async (batch) => tellStart(batch.length))
    return runUntilDrained(() => boss.stop())
  },
  async check({ url, jobs }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query(`select from pgboss.job where name = 'nothing' and state = 'completed'`)
      if (rowCount !== jobs) throw new Error(`${rowCount} of ${jobs} jobs are completed.`)
    })
  },
})
