import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { bigBatches, fillBoss, openBoss } from './pg-boss.ts'
import { untilNone } from './until-none.ts'

await runStep({
  async prepare({ url, jobs }) {
    await fillBoss(url, 'nothing', jobs)
  },
  async measure({ url, jobs, options }, meter) {
    const seen = new Uint8Array(jobs)
    let started = 0
    const all = Promise.withResolvers<void>()
    const boss = await openBoss(url)
    await boss.work<{ i: number }>('nothing', options.batching === 'off' ? {} : bigBatches, async (batch) => {
      if (started === 0) meter.begin()
      for (const job of batch) seen[job.data.i]! += 1
      started += batch.length
      if (started === jobs) all.resolve()
    })
    await all.promise
    await untilNone(url, `select from pgboss.job where name = 'nothing' and state <> 'completed' limit 1`)
    const figures = meter.end()
    await boss.stop()
    if (!seen.every((times) => times === 1)) throw new Error('Not each job was run exactly once.')
    return figures
  },
  async check({ url, jobs }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query(`select from pgboss.job where name = 'nothing' and state = 'completed'`)
      if (rowCount !== jobs) throw new Error(`${rowCount} of ${jobs} jobs are completed.`)
    })
  },
})
