import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import type { Queryable } from '../sql/statement.ts'
import { ApiError } from './api-error.ts'

/** As long as a list may take. */
const mostMs = 2_000
const cancelled = '57014'

/**
 * Runs a read whose cost depends on what was asked for: planned for its values (a generic plan guesses how much a filter leaves over),
 * and given up after two seconds, or `withinMs`.
 */
export async function boundedRead<Result>(
  pool: Pool,
  read: (db: Queryable) => Promise<Result>,
  withinMs = mostMs,
): Promise<Result> {
  try {
    return await inTransaction(pool, async (tx) => {
      await tx.query(
        `set local statement_timeout = ${withinMs}; set local plan_cache_mode = force_custom_plan; set local jit = off`,
      )
      return read(tx)
    })
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== cancelled) throw error
    throw new ApiError(
      'BAD_USER_INPUT',
      'This filter would have to look through too much history. Name a status, a kind, a tenant or ids.',
      {
        reason: 'LIMIT_EXCEEDED',
      },
    )
  }
}
