import type { Pool, PoolClient } from 'pg'
import { migrationStatus } from '../db/migrate.ts'
import { findMissingJournalMonths } from '../sql/find-missing-journal-months.ts'

/** Whether this instance can do its work. Reasons keep it from being ready, warnings do not; both are whole sentences. */
export interface Health {
  readonly ready: boolean
  readonly reasons: readonly string[]
  readonly warnings: readonly string[]
}

interface HealthDeps {
  readonly pool: Pool
  /** Sentences that say why the workers of this process are not fit; empty when they are, or when there are none. */
  readonly workersUnfit: () => readonly string[]
  readonly answerWithinMs?: number
}

type Findings = Pick<Health, 'reasons' | 'warnings'>

const findingsLastMs = 500
const journalMonthsAhead = 1
const databaseAway: Findings = { reasons: ['The database does not answer. It is tried again by itself.'], warnings: [] }

/**
 * Answers in time, whatever the database does. One look is under way at a time and shared by all who ask:
 * a database that hangs costs one connection, however often somebody asks.
 */
export function createHealth({ pool, workersUnfit, answerWithinMs = 3_000 }: HealthDeps): () => Promise<Health> {
  let look: Promise<Findings> | undefined
  // Once seen, never looked for again: the files of the next version may lie on the disk while this one still runs.
  let isMigrated = false

  const lookAtDatabase = async (): Promise<Findings> => {
    const client = await pool.connect()
    let broken: Error | undefined
    try {
      const pending = isMigrated ? [] : await findPendingMigrations(client)
      if (pending.length > 0) {
        const reason = `The database is not at the migrations of this version: ${pending.join(', ')}. Run \`stellwerk migrate\`.`
        return { reasons: [reason], warnings: [] }
      }
      isMigrated = true
      const missing = await findMissingJournalMonths(client, journalMonthsAhead)
      return { reasons: [], warnings: missing.map(({ month }) => withoutPartition(month)) }
    } catch (error) {
      broken = error as Error
      throw error
    } finally {
      // A session that hangs would be handed to the next request.
      client.release(broken)
    }
  }

  const startLook = (): Promise<Findings> => {
    const started = lookAtDatabase().catch(() => databaseAway)
    void started.then(() => setTimeout(() => (look = undefined), findingsLastMs).unref())
    return started
  }

  return async () => {
    look ??= startLook()
    const { reasons, warnings } = await within(answerWithinMs, look, databaseAway)
    const all = [...reasons, ...workersUnfit()]
    return { ready: all.length === 0, reasons: all, warnings }
  }
}

async function findPendingMigrations(client: PoolClient): Promise<readonly string[]> {
  const states = await migrationStatus(client)
  return states
    .filter(({ state }) => state === 'pending' || state === 'changed')
    .map(({ name, state }) => `${name} (${state})`)
}

const withoutPartition = (month: string): string =>
  `The journal has no partition for ${month}; its rows go to the default partition. Run \`stellwerk migrate\`, or see that cleanup_jobs runs.`

async function within<Value>(ms: number, work: Promise<Value>, otherwise: Value): Promise<Value> {
  const late = Promise.withResolvers<Value>()
  const timer = setTimeout(() => late.resolve(otherwise), ms)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
