import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Figures } from '../bench.ts'
import type { Meter } from '../meter.ts'

/** Several instances drain one backlog together: each is this step's script once more. The processor time of the instances is not in the figures. */
export async function drainTogether(
  script: string,
  count: number,
  meter: Meter,
  untilDrained: () => Promise<void>,
): Promise<Figures> {
  const instances = Array.from({ length: count }, () => fork(script, ['measure', 'instance']))
  await Promise.race(instances.map((instance) => once(instance, 'message')))
  meter.begin()
  await untilDrained()
  const figures = meter.end()
  for (const instance of instances) {
    const ended = once(instance, 'exit')
    instance.disconnect()
    await ended
  }
  return figures
}

export const asInstance = process.argv[3] === 'instance'

let told = false

/** The first job of this instance has started. */
export function tellStart(): void {
  if (told) return
  told = true
  process.send!('started')
}

/** Ends this instance, once the others have ended the backlog too. */
export async function runUntilDrained(stop: () => Promise<void>): Promise<never> {
  await once(process, 'disconnect')
  await stop()
  process.exit()
}
