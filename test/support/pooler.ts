import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path))

/** Why tests behind a pooler cannot run here; null: they can. */
export const poolerMissing: string | null =
  program === undefined ? 'PgBouncer is not on this machine (Debian: pgbouncer)' : null

/** A PgBouncer in transaction mode before this database. */
export async function startPooler(databaseUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
  const { pathname, searchParams } = new URL(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'stellwerk-pooler-'))
  const port = await freePort()
  const ini = join(folder, 'pgbouncer.ini')
  await writeFile(
    ini,
    `[databases]
pooled = host=${searchParams.get('host')} port=5432 dbname=${pathname.slice(1)} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
`,
  )
  // It refuses to run as root: in a namespace of its own it is somebody else, who may still open root's socket.
  const asOther = process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=1', '--map-group=1'] : []
  const [command, ...args] = [...asOther, program!, '-q', ini]
  const child = spawn(command!, args, { stdio: 'ignore' })
  await until(() => answers(port), 'the pooler listens')
  return {
    url: `postgresql://postgres@127.0.0.1:${port}/pooled`,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
