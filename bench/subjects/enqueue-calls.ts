import type { Figures } from '../bench.ts'
import type { Meter } from '../meter.ts'
import type { Given } from '../given.ts'
import { percentile } from './pickup-samples.ts'

/** Enqueues the jobs with these numbers; resolves after their commit. */
type Add = (numbers: readonly number[]) => Promise<unknown>

/** Calls until all jobs are in, so many calls at once and so many jobs a call. The first tenth warms up. */
export async function enqueueCalls({ jobs, options }: Given, meter: Meter, add: Add): Promise<Figures> {
  const perCall = Number(options.bulk)
  const inFlight = Number(options.inFlight)
  let next = 0
  const run = async (until: number, took: number[]): Promise<void> => {
    const one = async (): Promise<void> => {
      while (next < until) {
        const numbers = Array.from({ length: Math.min(perCall, until - next) }, (_, n) => next + n)
        next += numbers.length
        const called = performance.now()
        await add(numbers)
        took.push(performance.now() - called)
      }
    }
    await Promise.all(Array.from({ length: inFlight }, one))
  }
  const warmUp = warmUpOf(jobs)
  await run(warmUp, [])
  next = 0
  meter.begin()
  const took: number[] = []
  await run(jobs, took)
  return { ...meter.end(), p50: percentile(took, 0.5), p99: percentile(took, 0.99) }
}

/** How many jobs go in before those that are measured. */
export const warmUpOf = (jobs: number): number => Math.ceil(jobs / 10)
