import type { Pool } from 'pg'
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

  const startLook = (): Promise<Findings> => {
    const started = lookAtDatabase(pool).catch(() => databaseAway)
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

async function lookAtDatabase(pool: Pool): Promise<Findings> {
  const client = await pool.connect()
  try {
    const behind = (await migrationStatus(client)).filter(({ state }) => state === 'pending' || state === 'changed')
    if (behind.length > 0) {
      const names = behind.map(({ name, state }) => `${name} (${state})`).join(', ')
      return {
        reasons: [`The database is not at this version's migrations: ${names}. Run \`stellwerk migrate\`.`],
        warnings: [],
      }
    }
    const missing = await findMissingJournalMonths(client, journalMonthsAhead)
    return { reasons: [], warnings: missing.map(({ month }) => withoutPartition(month)) }
  } finally {
    client.release()
  }
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
