import { setTimeout as wait } from 'node:timers/promises'
import { databaseFault } from '../jobs/database-fault.ts'

const conflictTries = 6

/**
 * Waits and answers true where a transaction that met this error is to be made again: after a conflict a few times, and while the database is away
 * (FAULTS F12) as long as the caller likes.
 */
export async function tryAgain(error: unknown, attempt: number): Promise<boolean> {
  const fault = databaseFault(error)
  if (fault !== 'unavailable' && (fault !== 'conflict' || attempt >= conflictTries)) return false
  await wait(Math.min(100 * 2 ** Math.min(attempt - 1, 10), 3_000) * (0.5 + Math.random()))
  return true
}
