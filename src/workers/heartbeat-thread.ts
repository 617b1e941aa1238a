import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import { heartbeatInstance } from '../sql/heartbeat-instance.ts'

/**
 * The heartbeat's own thread, with a connection of its own: a handler that keeps the main thread busy must not look like death (FAULTS O02).
 * It falls silent when the main thread has been silent for two minutes: then nobody is at home.
 */
export interface HeartbeatOptions {
  readonly url: string
  readonly instanceId: string
  readonly everyMs: number
}

/** `lost`: the row is gone, the instance was given up for dead. */
export type HeartbeatReport = 'lost'

const silentAfterMs = 120_000

const { url, instanceId, everyMs } = workerData as HeartbeatOptions
const pool = new pg.Pool({
  connectionString: url,
  max: 1,
  options: '-c TimeZone=UTC',
  application_name: 'stellwerk heartbeat',
  connectionTimeoutMillis: 4_000,
  query_timeout: 30_000,
  keepAlive: true,
})
pool.on('error', () => undefined)
pool.on('connect', (client) => client.on('error', () => undefined))

let heardAt = performance.now()
let facts = { draining: false, subscriptions: 0, abandoned: 0 }
let beating = false

parentPort!.on('message', (message: typeof facts) => {
  // How late the main thread's message is says how busy its event loop is.
  facts = message
  heardAt = performance.now()
})

const beat = async (): Promise<void> => {
  const silence = performance.now() - heardAt
  if (beating || silence > silentAfterMs) return
  beating = true
  try {
    const late = Math.max(silence - Math.min(everyMs, 1_000), 0)
    const rows = await heartbeatInstance(pool, instanceId, facts.draining, late, facts.subscriptions, facts.abandoned)
    if (rows.length === 0) parentPort!.postMessage('lost' satisfies HeartbeatReport)
  } catch {
    // The database is away: the next beat tries again.
  } finally {
    beating = false
  }
}

setInterval(() => void beat(), everyMs)
