import { spawn, spawnSync, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { embeddedBinaries } from '../../src/db/embedded-binaries.ts'
import { startEmbedded } from '../../src/db/embedded.ts'
import { processBirth } from '../../src/db/process-facts.ts'
import { socketFolder } from '../../src/db/socket-folder.ts'
import { leaveOut } from '../support/leave-out.ts'
import { until } from '../support/until.ts'

const script = fileURLToPath(new URL('../support/start-embedded.ts', import.meta.url))
// A killed process loses nothing that it has written, so that only the first test needs the disk's own durability.
const small = { shared_buffers: '16MB', fsync: 'off' }
const isRoot = process.getuid?.() === 0

// Copies of a cluster that was already started once spare most tests the second that a first start takes.
let made: string
let home: string
let dataDir: string
const children: ChildProcess[] = []
const servers: number[] = []

beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'stellwerk-test-made-'))
  const embedded = await startEmbedded({ dataDir: made, settings: small })
  await embedded.stop()
})
afterAll(() => rm(made, { recursive: true }))

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'stellwerk embedded '))
  dataDir = join(home, 'data dir')
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const pid of servers.splice(0)) if (processBirth(pid)) process.kill(pid, 'SIGQUIT')
  for (const folder of [home, socketFolder(dataDir)]) await rm(folder, { recursive: true, force: true, maxRetries: 20 })
})

/** Lays a cluster into the data directory that is as if it had been started and stopped there. */
async function haveCluster(): Promise<void> {
  // A third of the time that node's own cp takes for a thousand small files.
  expect(spawnSync('cp', ['-a', made, dataDir]).status).toBe(0)
}

interface Owner {
  readonly child: ChildProcess
  readonly url: string
  readonly pid: number
}

/** Starts a process that owns a server, and answers once that runs; throws what the process says when it does not. */
async function own(args: readonly string[] = [dataDir], options: SpawnOptions = {}): Promise<Owner> {
  const child = spawn(process.execPath, [script, ...args], { ...options, stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  const said = createInterface(child.stdout as NodeJS.ReadableStream)
  const [line] = (await Promise.race([
    once(said, 'line'),
    once(child, 'exit').then(() => ['{"error":"ended without a word"}']),
  ])) as [string]
  const answer = JSON.parse(line) as { url: string; pid: number; error?: string }
  if (answer.error) throw new Error(answer.error)
  servers.push(answer.pid)
  return { child, ...answer }
}

async function kill(pid: number): Promise<void> {
  const birth = processBirth(pid)
  process.kill(pid, 'SIGKILL')
  await until(() => processBirth(pid) !== birth, `process ${pid} is gone`)
}

async function ask(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function mode(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8)
}

test('O04: starts in a folder with blanks, for its owner only, on a socket only, with full durability', async () => {
  const embedded = await startEmbedded({ dataDir })
  try {
    const [row] = await ask(
      embedded.url,
      `
      select current_database() as database, current_setting('listen_addresses') as tcp, current_setting('TimeZone') as zone,
             current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('full_page_writes') as pages,
             current_setting('max_connections') as connections, current_setting('data_directory') as dir, lower('ÄÖ') as low`,
    )
    expect(row).toEqual({
      ...{ database: 'stellwerk', tcp: '', zone: 'UTC', fsync: 'on', commit: 'on', pages: 'on', connections: '200' },
      ...{ dir: join(dataDir, 'postgres'), low: 'äö' },
    })
    expect(await readFile(join(dataDir, 'database.url'), 'utf8')).toBe(`${embedded.url}\n`)
    const sockets = new URL(embedded.url).searchParams.get('host') as string
    expect(
      await Promise.all([dataDir, sockets, join(dataDir, 'database.url'), join(dataDir, 'run.json')].map(mode)),
    ).toEqual(['700', '700', '600', '600'])
    expect(Buffer.byteLength(sockets)).toBeLessThan(80)
    await embedded.runFile.setPort(4000)
    expect(JSON.parse(await readFile(join(dataDir, 'run.json'), 'utf8'))).toMatchObject({
      pid: process.pid,
      port: 4000,
    })
    await embedded.stop()
    expect(processBirth(embedded.pid)).toBe(null)
    await expect(stat(sockets)).rejects.toThrow('ENOENT')
    expect((await readdir(dataDir)).toSorted()).toEqual(['database.url', 'postgres'])
  } finally {
    await embedded.stop()
  }
})

test('rows are kept over a stop, and stopping does not wait for whoever is connected', async () => {
  await haveCluster()
  const first = await startEmbedded({ dataDir, settings: small })
  await ask(first.url, 'create table kept as select 1 as id')
  const idle = new Client({ connectionString: first.url })
  const gone = once(idle, 'error')
  idle.on('error', () => {})
  await idle.connect()
  await first.stop()
  await gone
  const second = await startEmbedded({ dataDir, settings: small })
  expect(await ask(second.url, 'select id from kept')).toEqual([{ id: 1 }])
  await second.stop()
})

describe('O04: one owner', () => {
  test('a second process is refused, told which one runs there, and what to do', async () => {
    await haveCluster()
    const { child, url } = await own()
    await expect(own()).rejects.toThrow(
      new RegExp(
        `in use by process ${child.pid}, started .*\\. Stop that process \\(kill ${child.pid}\\), or set STELLWERK_DATA_DIR`,
      ),
    )
    expect(await ask(url, 'select 1 as alive')).toEqual([{ alive: 1 }])
  })

  test('of several that start at once on a dead one’s directory exactly one wins', async () => {
    await haveCluster()
    const first = await own()
    await kill(first.child.pid as number)
    const starts = await Promise.allSettled([1, 2, 3, 4].map(() => own()))
    const won = starts.filter((start) => start.status === 'fulfilled').map((start) => start.value)
    expect(won).toHaveLength(1)
    const refusals = starts
      .filter((start) => start.status === 'rejected')
      .map((start) => (start.reason as Error).message)
    for (const refusal of refusals) expect(refusal).toContain('in use by process')
    expect(await ask(won[0]?.url as string, 'select 1 as alive')).toEqual([{ alive: 1 }])
  })

  test('a process with the number of the dead owner does not count', async () => {
    await haveCluster()
    const record = { pid: process.pid, port: 4000, started: '2026-01-01T00:00:00.000Z', birth: 'another boot/1' }
    await writeFile(join(dataDir, 'run.json'), JSON.stringify(record))
    const embedded = await startEmbedded({ dataDir, settings: small })
    expect(embedded.runFile.previous).toEqual(record)
    await embedded.stop()
  })
})

describe('O04: after a kill', () => {
  test('of the owner, the orphaned server is stopped cleanly and rows are kept', async () => {
    await haveCluster()
    const { child, url, pid } = await own()
    await ask(url, 'create table kept as select 1 as id')
    await kill(child.pid as number)
    expect(processBirth(pid)).not.toBe(null)
    const lines: string[] = []
    const next = await startEmbedded({ dataDir, settings: small, log: (line) => lines.push(line) })
    expect(next.runFile.previous?.pid).toBe(child.pid)
    expect(processBirth(pid)).toBe(null)
    expect(lines.join('\n')).toMatch(/database system was shut down at/)
    expect(await ask(next.url, 'select id from kept')).toEqual([{ id: 1 }])
    await next.stop()
  })

  test('of both, the server recovers and rows are kept', async () => {
    await haveCluster()
    const { child, url, pid } = await own()
    await ask(url, 'create table kept as select 1 as id')
    await kill(child.pid as number)
    await kill(pid)
    const next = await startEmbedded({ dataDir, settings: small })
    expect(await ask(next.url, 'select id from kept')).toEqual([{ id: 1 }])
    await next.stop()
  })

  test('a zombie does not hold the lock', async () => {
    await haveCluster()
    // The shell turns into a program that never asks for its child's end; the child lasts until it has.
    const parent = spawn('sh', ['-c', 'sleep 0.3 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(parent)
    const [said] = (await once(parent.stdout, 'data')) as [Buffer]
    const zombie = Number(said)
    await until(async () => /\) Z/.test(await readFile(`/proc/${zombie}/stat`, 'utf8')), 'there is a zombie')
    await writeFile(join(dataDir, 'postgres/postmaster.pid'), `${zombie}\n${dataDir}/postgres\n`)
    const next = await startEmbedded({ dataDir, settings: small })
    expect(await ask(next.url, 'select 1 as alive')).toEqual([{ alive: 1 }])
    await next.stop()
  })

  test('a stranger with the number of the dead server is left alone', async () => {
    await haveCluster()
    const stranger = spawn('sleep', ['60'])
    children.push(stranger)
    await once(stranger, 'spawn')
    await writeFile(join(dataDir, 'postgres/postmaster.pid'), `${stranger.pid}\n${dataDir}/postgres\n`)
    const next = await startEmbedded({ dataDir, settings: small })
    await next.stop()
    expect(processBirth(stranger.pid as number)).not.toBe(null)
  })

  test('twenty times at random moments of the first start, the next start just works', async () => {
    for (let round = 0; round < 20; round += 1) {
      const child = spawn(process.execPath, [script, dataDir], { stdio: ['pipe', 'pipe', 'inherit'] })
      children.push(child)
      const exited = once(child, 'exit')
      // Not before the start has begun, then anywhere up to where it is done: node itself takes the first part.
      await until(
        () =>
          stat(dataDir).then(
            () => true,
            () => false,
          ),
        'the start has begun',
      )
      await Promise.race([delay(Math.random() * 900), once(child.stdout, 'data')])
      child.kill('SIGKILL')
      await exited
    }
    const next = await startEmbedded({ dataDir, settings: small })
    expect(await ask(next.url, 'select current_database() as database')).toEqual([{ database: 'stellwerk' }])
    await next.stop()
    expect((await readdir(dataDir)).filter((name) => name.startsWith('run.json'))).toEqual([])
  })
})

describe('O04: what is not its own', () => {
  test('a cluster that it did not make is left untouched', async () => {
    await haveCluster()
    await unlink(join(dataDir, 'postgres/stellwerk.made'))
    const before = await readdir(join(dataDir, 'postgres'))
    await expect(startEmbedded({ dataDir, settings: small })).rejects.toThrow(
      'was not made by Stellwerk, so it is left untouched',
    )
    expect(await readdir(join(dataDir, 'postgres'))).toEqual(before)
  })

  test('a server that somebody else started on its cluster goes on', async () => {
    await haveCluster()
    const binaries = await embeddedBinaries()
    const args = [
      join(binaries?.folder as string, 'bin/postgres'),
      '-D',
      join(dataDir, 'postgres'),
      '-c',
      'listen_addresses=',
      '-c',
      `unix_socket_directories="${home}"`,
    ]
    const [file, ...rest] = isRoot ? ['unshare', '--user', '--map-user=1', '--map-group=1', ...args] : args
    const other = spawn(file as string, rest, { stdio: ['ignore', 'ignore', 'pipe'] })
    children.push(other)
    const lines = createInterface(other.stderr)
    const ready = Promise.withResolvers<void>()
    lines.on('line', (line) => line.includes('ready to accept connections') && ready.resolve())
    await ready.promise
    await expect(startEmbedded({ dataDir, settings: small })).rejects.toThrow(`PostgreSQL process ${other.pid} runs on`)
    expect(processBirth(other.pid as number)).not.toBe(null)
    const ended = once(other, 'exit')
    other.kill('SIGINT')
    await ended
  })

  test('a socket folder that others may enter is refused', async () => {
    await haveCluster()
    const first = await startEmbedded({ dataDir, settings: small })
    const sockets = new URL(first.url).searchParams.get('host') as string
    await first.stop()
    await mkdir(sockets)
    await chmod(sockets, 0o777)
    await expect(startEmbedded({ dataDir, settings: small })).rejects.toThrow(`The folder ${sockets} for the socket`)
    await rm(sockets, { recursive: true })
  })
})

describe('binaries', () => {
  test('a missing platform says to set DATABASE_URL', async () => {
    await expect(startEmbedded({ dataDir, binaries: null })).rejects.toThrow(
      'Set DATABASE_URL to a PostgreSQL 16 or newer',
    )
  })

  test('O04: a folder that cannot be written says to set STELLWERK_DATA_DIR', async () => {
    await writeFile(join(home, 'file'), '')
    await expect(startEmbedded({ dataDir: join(home, 'file/data') })).rejects.toThrow(
      'Set STELLWERK_DATA_DIR to a directory that',
    )
  })

  test('links that npm left out are made', async () => {
    const native = await withoutLinks()
    const { child } = await own([dataDir, native])
    expect((await readdir(join(native, 'lib'))).includes('libicuuc.so.60')).toBe(true)
    await endOf(child)
  })
})

describe('O04: as root', () => {
  if (!isRoot) return leaveOut('this is not root, so that the ordinary account is what all other tests show')

  test('where root’s folder is closed to everybody else', async () => {
    await chmod(home, 0o700)
    const embedded = await startEmbedded({ dataDir, settings: small })
    expect((await stat(join(dataDir, 'postgres'))).uid).toBe(0)
    await embedded.stop()
  })

  test('where user namespaces are forbidden, an account of the system serves, and goes on with its cluster later', async () => {
    await chmod(home, 0o755)
    const accounts = await readFile('/etc/passwd', 'utf8')
    const nowhere = join(home, 'no programs')
    await mkdir(nowhere)
    const { child, url } = await own([dataDir], { env: { ...process.env, PATH: nowhere } })
    expect(await ask(url, 'select 1 as alive')).toEqual([{ alive: 1 }])
    expect((await stat(join(dataDir, 'postgres'))).uid).not.toBe(0)
    await endOf(child)
    const next = await startEmbedded({ dataDir, settings: small })
    expect(await ask(next.url, 'select 1 as alive')).toEqual([{ alive: 1 }])
    await next.stop()
    expect(await readFile('/etc/passwd', 'utf8')).toBe(accounts)
  })

  test('an account that cannot enter the installed binaries gets a copy', async () => {
    await chmod(home, 0o755)
    const native = await withoutLinks()
    await chmod(dirname(native), 0o700)
    const nowhere = join(home, 'no programs')
    await mkdir(nowhere)
    const { child, url } = await own([dataDir, native], { env: { ...process.env, PATH: nowhere } })
    expect(await ask(url, 'select 1 as alive')).toEqual([{ alive: 1 }])
    await endOf(child)
  })
})

describe('O04: as an ordinary user', () => {
  const nobody = { uid: 65534, gid: 65534 }
  if (!isRoot) return leaveOut('only root can become another user')
  if (spawnSync(process.execPath, ['--check', script], { cwd: '/', ...nobody }).status !== 0) {
    return leaveOut('the checkout lies in a folder that other accounts cannot enter')
  }

  test('starts, stops its orphan, and keeps rows', async () => {
    await chmod(home, 0o777)
    const first = await own([dataDir], { cwd: '/', ...nobody })
    await ask(first.url, 'create table kept as select 1 as id')
    expect((await stat(join(dataDir, 'postgres'))).uid).toBe(nobody.uid)
    await kill(first.child.pid as number)
    const next = await own([dataDir], { cwd: '/', ...nobody })
    expect(await ask(next.url, 'select id from kept')).toEqual([{ id: 1 }])
    await endOf(next.child)
  })
})

async function endOf(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.stdin?.end()
  expect(await exited).toEqual([0, null])
}

/** A copy of the binaries as `npm ci --ignore-scripts` leaves them. */
async function withoutLinks(): Promise<string> {
  const installed = await embeddedBinaries()
  const native = join(home, 'package/native')
  await mkdir(dirname(native))
  await cp(installed?.folder as string, native, { recursive: true, verbatimSymlinks: true })
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  for (const { target } of links) await rm(join(native, '..', target), { force: true })
  return native
}
