import { Logger, makeWorkerUtils } from 'graphile-worker'
import { Pool } from 'pg'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { enqueueCalls, warmUpOf } from './enqueue-calls.ts'

const silent = new Logger(() => () => {})

await runStep({
  async prepare({ url }) {
    const utils = await makeWorkerUtils({ connectionString: url, logger: silent })
    await utils.migrate()
    await utils.release()
  },
  async measure(given, meter) {
    const pgPool = new Pool({ connectionString: given.url, max: Number(given.options.inFlight) })
    pgPool.on('error', (error) => console.error(error))
    const utils = await makeWorkerUtils({ pgPool, logger: silent })
    const figures = await enqueueCalls(given, meter, (numbers) =>
      given.options.bulk === '1'
        ? utils.addJob('nothing', { i: numbers[0] })
        : utils.addJobs(numbers.map((i) => ({ identifier: 'nothing', payload: { i } }))),
    )
    await utils.release()
    await pgPool.end()
    return figures
  },
  async check({ url, jobs }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query('select from graphile_worker._private_jobs')
      if (rowCount !== jobs + warmUpOf(jobs)) throw new Error(`${rowCount} jobs went in.`)
    })
  },
})
