import { PgBoss } from 'pg-boss'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { enqueueCalls, warmUpOf } from './enqueue-calls.ts'

const open = async (url: string, max: number): Promise<PgBoss> => {
  const boss = new PgBoss({ connectionString: url, max, supervise: false, schedule: false })
  boss.on('error', (error) => console.error(error))
  return boss.start()
}

await runStep({
  async prepare({ url }) {
    const boss = await open(url, 2)
    await boss.createQueue('nothing')
    await boss.stop()
  },
  async measure(given, meter) {
    const boss = await open(given.url, Math.max(Number(given.options.inFlight), 2))
    const figures = await enqueueCalls(given, meter, (numbers) =>
      given.options.bulk === '1'
        ? boss.send('nothing', { i: numbers[0] })
        : boss.insert(
            'nothing',
            numbers.map((i) => ({ data: { i } })),
          ),
    )
    await boss.stop()
    return figures
  },
  async check({ url, jobs }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query(`select from pgboss.job where name = 'nothing'`)
      if (rowCount !== jobs + warmUpOf(jobs)) throw new Error(`${rowCount} jobs went in.`)
    })
  },
})
