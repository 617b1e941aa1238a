import { runStep } from '../step.ts'
import { bullMqOn } from './bullmq.ts'
import { createPickupSamples } from './pickup-samples.ts'

await runStep({
  async prepare(given) {
    const bull = await bullMqOn(given)
    const queue = bull.queue()
    await queue.waitUntilReady()
    await queue.close()
  },
  async measure(given) {
    const bull = await bullMqOn(given)
    const samples = createPickupSamples(given.jobs, bull.meter())
    const worker = bull.worker(async (job) => samples.started((job.data as { i: number }).i), 4)
    const queue = bull.queue()
    await worker.waitUntilReady()
    const figures = await samples.take((i) => queue.add('nothing', { i }))
    await queue.close()
    await worker.close()
    return figures
  },
  async check(given) {
    await (await bullMqOn(given)).end()
  },
})
