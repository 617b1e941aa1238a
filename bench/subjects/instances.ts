import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Figures } from '../bench.ts'
import type { Meter } from '../meter.ts'

/** Several instances drain one backlog together: each is this step's script once more. The processor time of the instances is not in the figures. */
export async function drainTogether(
  script: string,
  { count, jobs }: { readonly count: number; readonly jobs: number },
  meter: Meter,
  untilEnded: () => Promise<void>,
): Promise<Figures> {
  const instances = Array.from({ length: count }, () => fork(script, ['measure', 'instance']))
  const all = Promise.withResolvers<void>()
  let started = 0
  for (const instance of instances)
    instance.on('message', (more: number) => {
      meter.begin()
      started += more
      // The database is asked only then: to look for a job that is left costs more the further it has to look.
      if (started >= jobs) all.resolve()
    })
  await all.promise
  await untilEnded()
  const figures = meter.end()
  for (const instance of instances) {
    const ended = once(instance, 'exit')
    instance.disconnect()
    await ended
  }
  return figures
}

export const asInstance = process.argv[3] === 'instance'

let started = 0
let toTell: NodeJS.Timeout | undefined

/** Jobs have started in this instance: the first is told at once, the others every 10 ms. */
export function tellStart(jobs = 1): void {
  if (started === 0 && toTell === undefined) process.send!(jobs)
  else started += jobs
  toTell ??= setTimeout(() => {
    toTell = undefined
    if (started > 0) process.send!(started)
    started = 0
  }, 10)
}

/** Ends this instance, once all have ended the backlog. */
export async function runUntilDrained(stop: () => Promise<void>): Promise<never> {
  await once(process, 'disconnect')
  await stop()
  process.exit()
}
