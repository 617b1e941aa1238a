import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Queryable } from '../sql/statement.ts'
import { registerInstance } from '../sql/register-instance.ts'
import { removeInstance } from '../sql/remove-instance.ts'
import type { HeartbeatOptions, HeartbeatReport } from './heartbeat-thread.ts'

/** This process start among the instances: registered, kept alive by a thread of its own, removed at the end. */
export interface Instance {
  readonly host: string
  readonly id: string
  /** Registers; the heartbeat thread starts. */
  start(): Promise<void>
  /** The heartbeats tell from now on that it takes no more. */
  drain(): void
  stop(): Promise<void>
}

interface InstanceDeps {
  readonly db: Queryable
  readonly url: string
  readonly version: string
  readonly dataDir: string | null
  readonly heartbeatMs: number
  /** The database had given this instance up for dead: its work is lost, it has registered anew. */
  readonly onLost: () => void
  readonly facts: () => { readonly subscriptions: number; readonly abandoned: number }
}

export function createInstance({ db, url, version, dataDir, heartbeatMs, onLost, facts }: InstanceDeps): Instance {
  const host = hostname()
  const id = randomUUID()
  let thread: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  let draining = false

  const register = (): Promise<unknown> => registerInstance(db, id, host, process.pid, version, dataDir)

  return {
    host,
    id,
    async start() {
      await register()
      const options: HeartbeatOptions = { url, instanceId: id, everyMs: heartbeatMs }
      thread = new Worker(new URL('./heartbeat-thread.ts', import.meta.url), { workerData: options })
      thread.on('message', (report: HeartbeatReport) => {
        if (report !== 'lost') return
        void register().then(onLost, () => undefined)
      })
      // A thread that dies would let the instance be taken for dead: better the process says so than half of it lives.
      thread.on('error', (error) => {
        throw error
      })
      timer = setInterval(() => thread?.postMessage({ draining, ...facts() }), Math.min(heartbeatMs, 1_000))
    },
    drain() {
      draining = true
      thread?.postMessage({ draining, ...facts() })
    },
    async stop() {
      clearInterval(timer)
      await thread?.terminate()
      await removeInstance(db, id).catch(() => undefined)
    },
  }
}
