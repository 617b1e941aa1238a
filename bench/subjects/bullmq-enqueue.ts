import { runStep } from '../step.ts'
import { bullMqOn } from './bullmq.ts'
import { enqueueCalls, warmUpOf } from './enqueue-calls.ts'

await runStep({
  async prepare(given) {
    const bull = await bullMqOn(given)
    const queue = bull.queue()
    await queue.waitUntilReady()
    await queue.close()
  },
  async measure(given) {
    const bull = await bullMqOn(given)
    const queue = bull.queue()
    const figures = await enqueueCalls(given, bull.meter(), (numbers) =>
      given.options.bulk === '1'
        ? queue.add('nothing', { i: numbers[0] })
        : queue.addBulk(numbers.map((i) => ({ name: 'nothing', data: { i } }))),
    )
    await queue.close()
    return figures
  },
  async check(given) {
    const bull = await bullMqOn(given)
    const queue = bull.queue()
    const { wait = 0, waiting = 0 } = await queue.getJobCounts()
    await queue.close()
    await bull.end()
    if (wait + waiting !== given.jobs + warmUpOf(given.jobs)) throw new Error(`${wait + waiting} jobs went in.`)
  },
})
