import { PgBoss } from 'pg-boss'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
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
    for (let from = 0; from < jobs; from += 1_000) {
      const count = Math.min(1_000, jobs - from)
      await boss.insert(
        'nothing',
        Array.from({ length: count }, (_, n) => ({ data: { i: from + n } })),
      )
    }
    await boss.stop()
  },
  async measure({ url, jobs }, meter) {
    const seen = new Uint8Array(jobs)
    let started = 0
    const all = Promise.withResolvers<void>()
    const boss = await open(url)
    await boss.work<{ i: number }>(
      'nothing',
      { batchSize: 1_000, localConcurrency: 2, burstWhenBatchFull: true },
      async (batch) => {
        if (started === 0) meter.begin()
        for (const job of batch) seen[job.data.i]! += 1
        started += batch.length
        if (started === jobs) all.resolve()
      },
    )
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
