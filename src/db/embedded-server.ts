import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { commandAs } from './embedded-account.ts'
import type { Cluster } from './embedded-cluster.ts'
import { stopOrphan } from './embedded-orphan.ts'

/** A running PostgreSQL server. */
export interface Server {
  readonly pid: number
  /** Fulfilled when the server has ended, asked for or not. */
  readonly exited: Promise<void>
  stop(): Promise<void>
  kill(signal: NodeJS.Signals): void
}

export type Settings = Readonly<Record<string, string | number>>

const FAST_STOP_MS = 20_000
const IMMEDIATE_STOP_MS = 5_000
const LOCK_FREE_WITHIN_MS = 20_000

// Said while a killed server's last processes let go of its memory, or when an orphan was quicker than we looked.
const STILL_LOCKED = /lock file ".*" already exists|pre-existing shared memory block/

/** Starts the server and waits until it takes connections; an orphan on the same cluster is stopped first. */
export async function startServer(
  cluster: Cluster,
  sockets: string,
  settings: Settings,
  log: (line: string) => void,
): Promise<Server> {
  const until = performance.now() + LOCK_FREE_WITHIN_MS
  for (;;) {
    await stopOrphan(cluster.dir, sockets)
    try {
      return await launch(cluster, sockets, settings, log)
    } catch (error) {
      if (!STILL_LOCKED.test((error as Error).message) || performance.now() > until) throw error
      await delay(50)
    }
  }
}

async function launch(
  cluster: Cluster,
  sockets: string,
  settings: Settings,
  log: (line: string) => void,
): Promise<Server> {
  const { file, args, options } = commandAs(cluster.account, join(cluster.binaries.folder, 'bin/postgres'), [
    ...['-D', cluster.dir],
    ...['-c', 'listen_addresses=', '-c', `unix_socket_directories="${sockets}"`, '-c', 'port=5432'],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ])
  // A process group of its own: Ctrl-C in a terminal must not stop the database before the workers have drained.
  const child = spawn(file, args, { ...options, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  const errors = child.stderr as Socket
  const ready = Promise.withResolvers<void>()
  const exited = Promise.withResolvers<void>()
  const lastLines: string[] = []
  createInterface(errors).on('line', (line) => {
    log(line)
    if (lastLines.push(line) > 20) lastLines.shift()
    if (line.includes('database system is ready to accept connections')) ready.resolve()
  })
  child.once('error', (error) => ready.reject(error))
  child.once('exit', () => exited.resolve())
  child.once('close', (code, signal) =>
    ready.reject(new Error(`The embedded PostgreSQL did not start (${code ?? signal}):\n${lastLines.join('\n')}`)),
  )
  await ready.promise
  // From here on the server alone does not keep this process alive.
  child.unref()
  errors.unref()
  return {
    pid: child.pid as number,
    exited: exited.promise,
    kill: (signal) => void child.kill(signal),
    async stop() {
      child.ref()
      for (const [signal, withinMs] of [
        ['SIGINT', FAST_STOP_MS],
        ['SIGQUIT', IMMEDIATE_STOP_MS],
        ['SIGKILL', IMMEDIATE_STOP_MS],
      ] as const) {
        child.kill(signal)
        if (await within(withinMs, exited.promise)) return
      }
    },
  }
}

async function within(ms: number, promise: Promise<void>): Promise<boolean> {
  const timer = new AbortController()
  const late = delay(ms, false, { signal: timer.signal }).catch(() => false)
  const done = await Promise.race([promise.then(() => true), late])
  timer.abort()
  return done
}
