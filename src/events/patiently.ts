import { setTimeout as wait } from 'node:timers/promises'
import { databaseFault } from '../jobs/database-fault.ts'
import { DatabaseUnavailable } from '../jobs/errors.ts'

const pausesMs = [100, 300, 1_000, 2_000]
const giveUpMs = 60_000

/**
 * Reads again while the database is away, up to a minute: a stream that a client holds open outlives a restart of the server. Another
 * failure is thrown at once, and so is any when nobody waits any more.
 */
export async function patiently<T>(read: () => Promise<T>, isLeft: () => boolean): Promise<T> {
  const since = performance.now()
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await read()
    } catch (error) {
      if (isLeft() || databaseFault(error) !== 'unavailable') throw error
      if (performance.now() - since > giveUpMs) throw new DatabaseUnavailable({ cause: error })
      await wait(pausesMs[Math.min(attempt, pausesMs.length - 1)], undefined, { ref: false })
    }
  }
}
