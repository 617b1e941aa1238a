import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { cancelSession } from '../../../sql/cancel-session.ts'
import type { Queryable } from '../../../sql/statement.ts'
import { tryDdlLock } from '../../../sql/try-ddl-lock.ts'

/** A connection of its own for CREATE and DROP INDEX CONCURRENTLY, which run in no transaction; it holds the table's DDL lock while it lives. */
export interface DdlSession extends Queryable {
  readonly pid: number
  /** Runs one command; cancelled in the server when `signal` fires. */
  run(command: string, signal?: AbortSignal): Promise<void>
  /** Lets commands wait so long for locks, and take so long; 0: without end. */
  limit(lockMs: number, statementMs: number): Promise<void>
  end(): Promise<void>
}

interface DdlSessionOptions {
  readonly url: string
  /** Cancels what the session executes: it cannot do so itself. */
  readonly db: Queryable
  readonly table: string
  readonly lockMs: number
  readonly statementMs: number
}

const cancelEveryMs = 250
const startWithinMs = 10_000
/** A build sorts and scans once: memory shortens it. */
const memory = '256MB'

/** Opens a session that may change the table's indexes; null: another one does so at the moment. */
export async function openDdlSession(options: DdlSessionOptions): Promise<DdlSession | null> {
  const { url, db, table } = options
  const client = new Client({
    connectionString: url,
    application_name: 'stellwerk index',
    options: `-c TimeZone=UTC -c maintenance_work_mem=${memory} -c idle_in_transaction_session_timeout=60000`,
    connectionTimeoutMillis: startWithinMs,
    keepAlive: true,
  })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const [lock] = await tryDdlLock(client, table)
    if (lock!.taken) return await createSession(client, db, options)
  } catch (error) {
    await end(client)
    throw error
  }
  await end(client)
  return null
}

async function createSession(client: Client, db: Queryable, options: DdlSessionOptions): Promise<DdlSession> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const { pid } = rows[0]!
  const limit = async (lockMs: number, statementMs: number): Promise<void> => {
    await client.query(`set lock_timeout = ${Math.round(lockMs)}; set statement_timeout = ${Math.round(statementMs)}`)
  }
  await limit(options.lockMs, options.statementMs)
  // Without it a build goes on for hours after its process was killed, and holds the lock; some systems cannot look.
  await client.query(`set client_connection_check_interval = '2s'`).catch(() => undefined)

  return {
    pid,
    query: (config) => client.query(config),
    limit,
    async run(command, signal) {
      signal?.throwIfAborted()
      const running = client.query(command)
      const settled = running.then(
        () => undefined,
        () => undefined,
      )
      const ended = new AbortController()
      const onAbort = () => void cancelUntil(db, pid, ended.signal)
      signal?.addEventListener('abort', onAbort, { once: true })
      try {
        await running
      } finally {
        await settled
        ended.abort()
        signal?.removeEventListener('abort', onAbort)
      }
    },
    end: () => end(client),
  }
}

/** A cancel that comes between two steps of a command is lost: so again, until it has ended. */
async function cancelUntil(db: Queryable, pid: number, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await cancelSession(db, pid).catch(() => undefined)
    await wait(cancelEveryMs, undefined, { signal: ended }).catch(() => undefined)
  }
}

/** A session that cannot say goodbye ends with its socket. */
async function end(client: Client): Promise<void> {
  await client.end().catch(() => undefined)
}
