import pg from 'pg'

export interface Pools {
  /** Reads and admin moves of the API. */
  readonly api: pg.Pool
  /** One session each: the hot statements. A pool of one heals itself when its connection breaks. */
  readonly claim: pg.Pool
  readonly settle: pg.Pool
  /** One for single orders, which share statements, and one so that bulks do not stand behind one another. */
  readonly enqueue: pg.Pool
  /** The relay's looks at the journal: planned once, an idle look costs 0.5 ms instead of 1.7. */
  readonly relay: pg.Pool
  /** Transactions of handlers (`commit(tx)`, `effects`, `onFailure`), and the statements of loops that nobody waits for. */
  readonly commit: pg.Pool
  /** Past any pooler, for sessions of one's own. */
  readonly directUrl: string
  end(): Promise<void>
}

interface PoolOptions {
  /** For workers, enqueues and LISTEN; differs from `url` where that goes through a transaction pooler. */
  readonly directUrl?: string
  readonly apiSize?: number
  readonly commitSize?: number
  readonly applicationName?: string
  /** A session that does nothing in its transaction for longer is ended: a frozen process must not keep its locks from those who recover its jobs. */
  readonly idleInTransactionMs?: number
  readonly onError?: (pool: string, error: Error) => void
}

/** DESIGN law 8: the process never sees another zone than UTC. */
const everySession = '-c TimeZone=UTC'

/**
 * Without a generic plan each claim is planned anew: 1.2 ms. A generic plan made on an empty table may be a scan: so scans are off.
 * jit never pays for statements of a millisecond.
 */
const hotSession = `${everySession} -c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_bitmapscan=off -c jit=off`

/** A server that accepts and never answers is noticed: callers hear within five seconds, workers try again on a new connection. */
const apiAnswersWithinMs = 4_500
const hotAnswersWithinMs = 30_000

/** Opens the pools of a process; connections are made when they are first needed. */
export function createPools(url: string, options: PoolOptions = {}): Pools {
  const direct = options.directUrl ?? url
  const open = (
    name: string,
    connectionString: string,
    max: number,
    sessionOptions: string | null,
    answerWithinMs = 0,
  ): pg.Pool => {
    const pool = new pg.Pool({
      connectionString,
      max,
      ...(sessionOptions === null
        ? {}
        : {
            options: `${sessionOptions} -c idle_in_transaction_session_timeout=${options.idleInTransactionMs ?? 30_000}`,
          }),
      query_timeout: answerWithinMs,
      application_name: `${options.applicationName ?? 'stellwerk'} ${name}`,
      connectionTimeoutMillis: 4_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
    })
    const report = (error: Error): void => options.onError?.(name, error)
    // A checked-out client whose backend is terminated emits 'error'; without a listener that ends the process (FAULTS C01).
    pool.on('error', report)
    pool.on('connect', (client) => {
      client.on('error', report)
      if (sessionOptions === null) withoutNames(client)
    })
    return pool
  }
  const pools = {
    api: open('api', url, options.apiSize ?? 10, url === direct ? everySession : null, apiAnswersWithinMs),
    // A claim that is lost when the server dies is a pending job again: it need not wait for the disk. Pickup p99 7.8 ms -> 2.7 ms. No sorts where an
    // index is in order: where the statistics know of no due job, or of one tenant, another index read to its end and sorted seems as cheap.
    claim: open(
      'claim',
      direct,
      1,
      `${hotSession} -c enable_sort=off -c enable_incremental_sort=off -c synchronous_commit=off`,
      hotAnswersWithinMs,
    ),
    settle: open('settle', direct, 1, hotSession, hotAnswersWithinMs),
    enqueue: open('enqueue', direct, 2, hotSession, apiAnswersWithinMs),
    relay: open('relay', direct, 2, hotSession, hotAnswersWithinMs),
    commit: open('commit', direct, options.commitSize ?? 8, everySession, hotAnswersWithinMs),
  }
  return {
    ...pools,
    directUrl: direct,
    async end() {
      await Promise.all(Object.values(pools).map((pool) => pool.end()))
    },
  }
}

/**
 * Behind a transaction pooler the next statement may meet another session: nothing is set on it, and no statement is prepared by name
 * (FAULTS P08). Instants are read with their offset, so that the session's zone does not matter here.
 */
function withoutNames(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  client.query = ((config: unknown, ...rest: unknown[]) =>
    query(
      typeof config === 'object' && config !== null && 'name' in config ? { ...config, name: undefined } : config,
      ...rest,
    )) as typeof client.query
}
