import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Queue, Worker, createPostgresBackend, type Processor } from 'bullmq'
import { Redis } from 'ioredis'
import type { Given } from '../given.ts'
import { createMeter, type Meter } from '../meter.ts'

/** BullMQ on the measurement's PostgreSQL, or on a Redis of its own (`redis`: nothing on disk; `redis aof`: each write synced). */
export interface BullMq {
  queue(): Queue
  worker(run: Processor, concurrency: number): Worker
  /** Of the server that it works on. */
  meter(): Meter
  /** Ends the Redis. */
  end(): Promise<void>
}

/** The server is started by the first step, and ended by the last. */
export async function bullMqOn(given: Given): Promise<BullMq> {
  if (given.options.on === 'postgres') {
    const connection = { connectionString: given.url, migrate: true }
    return {
      queue: () => new Queue('nothing', { connection: connection as never }, createPostgresBackend as never),
      worker: (run, concurrency) =>
        new Worker(
          'nothing',
          run,
          { ...workerOptions, connection: connection as never, concurrency },
          createPostgresBackend as never,
        ),
      meter: () => createMeter(given),
      async end() {},
    }
  }
  const path = join(given.folder, 'redis.sock')
  const pid = await redisPid(given, path)
  const connection = { path, maxRetriesPerRequest: null }
  return {
    queue: () => new Queue('nothing', { connection }),
    worker: (run, concurrency) => new Worker('nothing', run, { ...workerOptions, connection, concurrency }),
    meter: () => createMeter({ ...given, postmaster: pid }),
    async end() {
      process.kill(pid, 'SIGTERM')
    },
  }
}

const workerOptions = { removeOnComplete: { count: 0 } }

async function redisPid({ folder, options }: Given, path: string): Promise<number> {
  const pidFile = join(folder, 'redis.pid')
  try {
    return Number(readFileSync(pidFile, 'utf8'))
  } catch {
    // The first step.
  }
  mkdirSync(join(folder, 'redis'), { recursive: true })
  const durable =
    options.on === 'redis aof' ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no']
  const server = spawn(
    'redis-server',
    ['--port', '0', '--unixsocket', path, '--save', '', '--dir', join(folder, 'redis'), ...durable],
    { detached: true, stdio: 'ignore' },
  )
  server.unref()
  writeFileSync(pidFile, String(server.pid))
  const client = new Redis({ path, lazyConnect: true, retryStrategy: () => null })
  client.on('error', () => {})
  for (;;) {
    try {
      await client.connect()
      client.disconnect()
      return server.pid!
    } catch {
      await wait(20)
    }
  }
}
