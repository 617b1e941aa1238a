import type { Pool, PoolClient, QueryConfig } from 'pg'
import { databaseFault } from '../jobs/database-fault.ts'

/** As for statements: a way to the server that is dead is not waited for. */
const answerWithinMs = 30_000

/** Runs `work` in one transaction: committed when it resolves, rolled back when it throws. */
export async function inTransaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  const withinMs = (pool.options as { query_timeout?: number }).query_timeout || answerWithinMs
  const say = (text: string) => client.query({ text, query_timeout: withinMs } as QueryConfig)
  let broken: Error | undefined
  try {
    await say('begin')
    const result = await work(client)
    const { command } = await say('commit')
    // So the server answers where a statement had failed before and its error was caught: nothing of it is there.
    if (command === 'ROLLBACK') throw new Error('The transaction was rolled back: one of its statements had failed.')
    return result
  } catch (error) {
    // On a connection that does not answer, a rollback would not either: its end is one.
    if (databaseFault(error) === 'unavailable') broken = error as Error
    else await say('rollback').catch((failure: Error) => (broken = failure))
    throw error
  } finally {
    client.release(broken)
  }
}
