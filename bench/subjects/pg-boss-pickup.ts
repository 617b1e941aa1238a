import { PgBoss } from 'pg-boss'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { createPickupSamples } from './pickup-samples.ts'

/** With LISTEN: without it a job waits for the next poll, half a second at best. */
const open = async (url: string): Promise<PgBoss> => {
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false, useListenNotify: true })
  boss.on('error', (error) => console.error(error))
  return boss.start()
}

await runStep({
  async prepare({ url }) {
    const boss = await open(url)
    await boss.createQueue('pickup', { notify: true })
    await boss.stop()
  },
  async measure({ url, jobs }, meter) {
    const samples = createPickupSamples(jobs, meter)
    const boss = await open(url)
    await boss.work<{ i: number }>('pickup', { localConcurrency: 4 }, async ([job]) => samples.started(job!.data.i))
    const figures = await samples.take((i) => boss.send('pickup', { i }))
    await boss.stop()
    return figures
  },
  async check({ url }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query(`select from pgboss.job where name = 'pickup' and state <> 'completed'`)
      if (rowCount !== 0) throw new Error(`${rowCount} jobs are not completed.`)
    })
  },
})
