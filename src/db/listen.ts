import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'

/** One connection that LISTENs, comes back by itself, and says when it was away. */
export interface Listener {
  listen(channel: string, hear: (payload: string) => void): Promise<void>
  /** Called after each reconnection: look at everything once, notifications were missed. */
  onRestored(hear: () => void): void
  connected(): boolean
  stop(): Promise<void>
}

interface ListenerOptions {
  readonly url: string
  readonly onLost: (error: Error) => void
  readonly onRestored: () => void
  /** How often the connection is probed: a peer that vanished without a word is noticed within twice this time. */
  readonly probeEveryMs?: number
}

const retryAfterMs = [50, 200, 1_000, 3_000]

export function createListener({ url, onLost, onRestored, probeEveryMs = 5_000 }: ListenerOptions): Listener {
  const channels = new Map<string, (payload: string) => void>()
  const restored = new Set<() => void>()
  let client: pg.Client | undefined
  let probe: NodeJS.Timeout | undefined
  let stopped = false
  let reconnecting: Promise<void> | undefined

  const drop = (broken: pg.Client, error: Error): void => {
    if (client !== broken) return
    client = undefined
    clearInterval(probe)
    broken.removeAllListeners('notification')
    void broken.end().catch(() => undefined)
    if (stopped) return
    onLost(error)
    reconnecting = reconnect().finally(() => (reconnecting = undefined))
  }

  const connect = async (): Promise<void> => {
    const next = new pg.Client({
      connectionString: url,
      options: '-c TimeZone=UTC',
      application_name: 'stellwerk listen',
      connectionTimeoutMillis: 4_000,
      keepAlive: true,
    })
    next.on('error', (error) => drop(next, error))
    next.on('end', () => drop(next, new Error('The connection was closed.')))
    next.on('notification', ({ channel, payload }) => channels.get(channel)?.(payload ?? ''))
    try {
      await next.connect()
      for (const channel of channels.keys()) await next.query(`listen ${pg.escapeIdentifier(channel)}`)
      // Who stopped it meanwhile knew of no session that is to be ended.
      if (stopped) throw new Error('The listener was stopped.')
    } catch (error) {
      void next.end().catch(() => undefined)
      throw error
    }
    client = next
    probe = setInterval(() => void check(next), probeEveryMs)
  }

  /** A black-holed connection answers nothing: a probe without an answer counts as broken. */
  const check = async (probed: pg.Client): Promise<void> => {
    const limit = setTimeout(() => drop(probed, new Error('The connection does not answer.')), probeEveryMs)
    try {
      await probed.query('select 1')
    } catch (error) {
      drop(probed, error as Error)
    } finally {
      clearTimeout(limit)
    }
  }

  const reconnect = async (): Promise<void> => {
    for (let attempt = 0; !stopped; attempt += 1) {
      const pause = retryAfterMs[Math.min(attempt, retryAfterMs.length - 1)]!
      // Instances that lost the same server do not come back in one wave.
      await wait(pause * (0.5 + Math.random()), undefined, { ref: false })
      if (stopped) return
      try {
        await connect()
        onRestored()
        for (const hear of restored) hear()
        return
      } catch {
        continue
      }
    }
  }

  return {
    async listen(channel, hear) {
      channels.set(channel, hear)
      if (client === undefined) await connect()
      else await client.query(`listen ${pg.escapeIdentifier(channel)}`)
    },
    onRestored(hear) {
      restored.add(hear)
    },
    connected: () => client !== undefined,
    async stop() {
      stopped = true
      // It may be connecting just now.
      await reconnecting
      clearInterval(probe)
      const last = client
      client = undefined
      await last?.end().catch(() => undefined)
    },
  }
}
