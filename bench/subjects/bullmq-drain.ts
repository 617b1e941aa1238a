import { setTimeout as wait } from 'node:timers/promises'
import { runStep } from '../step.ts'
import { bullMqOn } from './bullmq.ts'

await runStep({
  async prepare(given) {
    const { queue: open } = await bullMqOn(given)
    const queue = open()
    for (let from = 0; from < given.jobs; from += 1_000) {
      const count = Math.min(1_000, given.jobs - from)
      await queue.addBulk(Array.from({ length: count }, (_, n) => ({ name: 'nothing', data: { i: from + n } })))
    }
    await queue.close()
  },
  async measure(given) {
    const bull = await bullMqOn(given)
    const meter = bull.meter()
    const seen = new Uint8Array(given.jobs)
    let started = 0
    const all = Promise.withResolvers<void>()
    const worker = bull.worker(
      async (job) => {
        if (started === 0) meter.begin()
        started += 1
        seen[(job.data as { i: number }).i]! += 1
        if (started === given.jobs) all.resolve()
      },
      given.options.concurrency === 'default' ? 1 : 100,
    )
    worker.on('error', (error) => console.error(error))
    await all.promise
    const queue = bull.queue()
    while (Object.values(await queue.getJobCounts('wait', 'active', 'prioritized')).some((count) => count > 0))
      await wait(2)
    const figures = meter.end()
    await queue.close()
    await worker.close()
    if (!seen.every((times) => times === 1)) throw new Error('Not each job was run exactly once.')
    return figures
  },
  async check(given) {
    const bull = await bullMqOn(given)
    const queue = bull.queue()
    const counts = await queue.getJobCounts()
    await queue.close()
    await bull.end()
    const left = Object.entries(counts).filter(([state, count]) => state !== 'completed' && count > 0)
    if (left.length > 0) throw new Error(`Jobs are left: ${JSON.stringify(left)}`)
  },
})
