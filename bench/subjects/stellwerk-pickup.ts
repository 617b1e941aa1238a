import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { migrate } from '../../src/db/migrate.ts'
import { enqueue } from '../../src/index.ts'
import type { Enqueuer } from '../../src/resolvers/enqueue-batcher.ts'
import { Pool } from 'pg'
import type { Given } from '../given.ts'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { createPickupSamples } from './pickup-samples.ts'
import { enqueueOrder, pickupKind } from './stellwerk-orders.ts'
import { startService } from './start-service.ts'
import { startWorkers } from './stellwerk-workers.ts'

/** The other instance: runs the jobs and tells of their starts. Messages take 0.1 ms, which counts as ours. */
const asOther = process.argv[3] === 'other'

async function startOther(): Promise<ChildProcess> {
  const other = fork(import.meta.filename, ['measure', 'other'])
  await once(other, 'message')
  return other
}

/** As a user runs it: with all built-in kinds, its log and its metrics. */
async function startWorker(given: Given): Promise<ChildProcess> {
  const { service } = await startService('worker', 'stellwerk-pickup-kinds.ts', given)
  return service
}

await runStep({
  async prepare({ url }) {
    await migrate(url)
  },
  async measure(given, meter) {
    const { url, jobs, options } = given
    if (asOther) {
      await startWorkers(url, { kinds: [pickupKind((i) => process.send!(i))] })
      process.send!('ready')
      await once(process, 'disconnect')
      process.exit()
    }
    const samples = createPickupSamples(jobs, meter)
    const enqueuer = Promise.withResolvers<Enqueuer>()
    const stop = await startWorkers(url, {
      kinds: [pickupKind(samples.started)],
      slots: options.other === undefined ? 4 : 0,
      onEnqueuer: enqueuer.resolve,
    })
    const other = await (options.other === 'service'
      ? startWorker(given)
      : options.other === 'yes'
        ? startOther()
        : null)
    other?.on('message', (i) => samples.started(i as number))
    const { enqueue: add } = await enqueuer.promise
    const pool = new Pool({ connectionString: url })
    const order = await enqueueOrder(url)
    const figures = await samples.take(
      options.by === 'sql'
        ? (i) => enqueue(pool, { kind: 'bench_pickup', payload: { i } })
        : (i) => add(order('bench_pickup', i)),
    )
    other?.kill()
    await pool.end()
    await stop()
    return figures
  },
  async check({ url }) {
    await withClient(url, async (client) => {
      const { rowCount } = await client.query(`select from mdm.aa_job where status <> 'done' or revision <> 3`)
      if (rowCount !== 0) throw new Error(`${rowCount} jobs were not done exactly once.`)
    })
  },
})
