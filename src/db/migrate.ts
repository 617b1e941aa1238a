import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { Client, type ClientBase } from 'pg'
import { applyMigration } from './apply-migration.ts'
import { assertSupported } from './check-server.ts'
import { migrationFiles, type MigrationFile } from './migration-files.ts'
import { ensureLedger, readLedger, type LedgerRow } from './migration-ledger.ts'

/** `changed`: applied from a file that read otherwise; `unknown`: applied by a newer Stellwerk, no such file here. */
export interface MigrationState {
  readonly name: string
  readonly state: 'applied' | 'pending' | 'changed' | 'unknown'
  readonly appliedAt: Date | null
}

/** The database's history and the migration files contradict each other, so that nothing was applied. */
export class MigrationRefused extends Error {
  override name = 'MigrationRefused'
}

const OWN_MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))
// The key under which Prisma's tools lock too.
const LOCK = 72707369
const LOCK_POLL_MS = 100
const LOCK_WITHIN_MS = 15 * 60_000
const JOURNAL_MONTHS_AHEAD = 6

/**
 * Brings a database up to date and answers what was applied. Of several at once one applies, the others wait for it.
 * Throws MigrationRefused, MigrationFailed or UnsupportedServer; a failed migration leaves nothing of itself.
 */
export async function migrate(
  target: string | ClientBase,
  { dir = OWN_MIGRATIONS } = {},
): Promise<{ applied: string[] }> {
  const files = await migrationFiles(dir)
  return withClient(target, async (client) => {
    await assertSupported(client)
    await lock(client)
    try {
      await ensureLedger(client)
      const ledger = await readLedger(client)
      refuseContradictions(files, ledger)
      const pending = files.filter((file) => !ledger.has(file.name))
      for (const file of pending) {
        await applyMigration(client, file)
        // What a file has set for its session must not leak into the next one.
        await client.query('reset all')
      }
      await makeJournalPartitions(client)
      return { applied: pending.map((file) => file.name) }
    } finally {
      await client.query(`select pg_advisory_unlock(${LOCK})`)
    }
  })
}

/** All migrations that the files or the database know, in the order of their names. */
export async function migrationStatus(
  target: string | ClientBase,
  { dir = OWN_MIGRATIONS } = {},
): Promise<MigrationState[]> {
  const files = await migrationFiles(dir)
  const ledger = await withClient(target, readLedger)
  return compare(files, ledger)
}

function compare(files: readonly MigrationFile[], ledger: ReadonlyMap<string, LedgerRow>): MigrationState[] {
  const checksums = new Map(files.map((file) => [file.name, file.checksum]))
  const names = [...new Set([...checksums.keys(), ...ledger.keys()])].toSorted()
  return names.map((name) => {
    const row = ledger.get(name)
    const appliedAt = row?.finishedAt ?? null
    if (!row) return { name, state: 'pending', appliedAt }
    if (!checksums.has(name)) return { name, state: 'unknown', appliedAt }
    return { name, state: row.checksum === checksums.get(name) ? 'applied' : 'changed', appliedAt }
  })
}

function refuseContradictions(files: readonly MigrationFile[], ledger: ReadonlyMap<string, LedgerRow>): void {
  const states = compare(files, ledger)
  const named = (state: MigrationState['state']) => states.filter((row) => row.state === state).map((row) => row.name)
  const unfinished = [...ledger.values()].filter((row) => row.finishedAt === null).map((row) => row.name)
  if (named('unknown').length > 0) {
    throw new MigrationRefused(
      `The database is newer than this Stellwerk: it knows ${list(named('unknown'))}, for which there is no file here. ` +
        'Start the newer version again, or go back to a backup from before its upgrade.',
    )
  }
  if (named('changed').length > 0) {
    throw new MigrationRefused(
      `${list(named('changed'))} changed after being applied to this database. ` +
        'Put the file back as it was, and make the change in a new migration.',
    )
  }
  if (unfinished.length > 0) {
    throw new MigrationRefused(
      `${list(unfinished)} was begun by another tool and never finished. ` +
        'Look at what it left, then set finished_at or rolled_back_at in public._prisma_migrations.',
    )
  }
}

/** Polled, since a session that waits inside PostgreSQL for the lock would stop its holder's CREATE INDEX CONCURRENTLY. */
async function lock(client: ClientBase): Promise<void> {
  const until = performance.now() + LOCK_WITHIN_MS
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${LOCK}) as locked`)
    if (rows[0]?.locked) return
    if (performance.now() > until) {
      throw new MigrationRefused(
        `Another process has been migrating this database for ${LOCK_WITHIN_MS / 60_000} minutes. Look at it, or wait and start again.`,
      )
    }
    await delay(LOCK_POLL_MS)
  }
}

async function makeJournalPartitions(client: ClientBase): Promise<void> {
  const { rows } = await client.query(
    `select to_regprocedure('mdm.ensure_journal_partitions(int)') is not null as there`,
  )
  if (rows[0].there) await client.query(`select mdm.ensure_journal_partitions(${JOURNAL_MONTHS_AHEAD})`)
}

async function withClient<Result>(
  target: string | ClientBase,
  work: (client: ClientBase) => Promise<Result>,
): Promise<Result> {
  if (typeof target !== 'string') return work(target)
  const client = new Client({
    connectionString: target,
    options: '-c timezone=UTC',
    application_name: 'stellwerk migrate',
  })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function list(names: readonly string[]): string {
  return `${names.length === 1 ? 'migration' : 'migrations'} ${names.join(', ')}`
}
