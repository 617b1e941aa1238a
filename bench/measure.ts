import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { startEmbedded } from '../src/db/embedded.ts'
import { embeddedBinaries } from '../src/db/embedded-binaries.ts'
import type { Figures, Subject } from './bench.ts'
import type { Given } from './given.ts'
import { serviceEnv, stellwerk } from './service.ts'

/** The oldest that Stellwerk runs on, and the newest. */
export type Postgres = 16 | 18

const root = fileURLToPath(new URL('..', import.meta.url))
const stepWithinMs = 10 * 60_000

interface MeasureOptions {
  /** Major version of the server. */
  readonly postgres?: Postgres
  /** PostgreSQL settings over the product's own, for profiles. */
  readonly settings?: Readonly<Record<string, string>>
  /** Runs beside the measured step; what it answers is called at its end. */
  readonly watch?: (url: string) => Promise<() => Promise<void>>
  /** Told of the database after the measured step, before it goes. */
  readonly look?: (url: string) => Promise<void>
  /** Where the measured process' profile goes. */
  readonly profile?: string
}

/** One measurement on a server, database and process of its own. */
export async function measure(subject: Subject, jobs: number, options: MeasureOptions = {}): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'stellwerk-bench-'))
  const server = await startEmbedded({
    dataDir: join(folder, 'server'),
    settings: options.settings ?? {},
    binaries: await embeddedBinaries(options.postgres),
  })
  try {
    const given: Given = {
      url: server.url,
      postmaster: server.pid,
      jobs: Math.round(jobs * (subject.share ?? 1)),
      folder,
      profile: options.profile ?? null,
      options: subject.options ?? {},
    }
    await runProcess(subject, 'prepare', given)
    await settle(server.url)
    const before = await walBytes(server.url)
    const unwatch = await options.watch?.(server.url)
    const figures = await runProcess(subject, 'measure', given)
    await unwatch?.()
    const after = await walBytes(server.url)
    await options.look?.(server.url)
    await runProcess(subject, 'check', given)
    return { ...figures, walBytes: (after - before) / given.jobs }
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Everybody begins with statistics, without dead rows and far from a checkpoint. */
async function settle(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('vacuum analyze')
    await client.query('checkpoint')
  })
}

async function walBytes(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ bytes: string }>(`select pg_current_wal_lsn() - '0/0' as bytes`)
    return Number(rows[0]!.bytes)
  })
}

/** Runs with a connection of its own. */
export async function withClient<Result>(url: string, run: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}

async function runProcess(subject: Subject, step: 'prepare' | 'measure' | 'check', given: Given): Promise<Figures> {
  const script = fileURLToPath(new URL(`subjects/${subject.script}`, import.meta.url))
  const { program, args, env } =
    step === 'measure' && subject.command !== undefined
      ? { program: stellwerk, ...subject.command }
      : { program: process.execPath, args: [script, step], env: {} }
  // What a service says goes into a file, as where one is run.
  const log = join(given.folder, `${step}.log`)
  const output = await open(log, 'w')
  const child = spawn(program, [...args], {
    cwd: root,
    env: serviceEnv({
      BENCH_GIVEN: JSON.stringify(given),
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value, given)])),
    }),
    stdio: ['ignore', output.fd, output.fd, 'ipc'],
  })
  try {
    return await figuresOf(child)
  } catch (error) {
    const said = (await readFile(log, 'utf8')).slice(-4_000)
    throw new Error(`${subject.name}, ${step}: ${(error as Error).message}\n${said}`, { cause: error })
  } finally {
    await output.close()
  }
}

/** Figures come by message; a service that has reported is then asked to end. */
function figuresOf(child: ChildProcess): Promise<Figures> {
  const { promise, resolve, reject } = Promise.withResolvers<Figures>()
  let figures: Figures = {}
  let stopped = false
  const limit = setTimeout(() => {
    child.kill('SIGKILL')
    reject(new Error(`not done within ${stepWithinMs / 60_000} minutes`))
  }, stepWithinMs)
  child.on('message', (message: { figures: Figures }) => {
    figures = message.figures
    stopped = child.kill('SIGTERM')
  })
  child.once('error', reject)
  child.once('exit', (code, signal) => {
    clearTimeout(limit)
    if (code === 0 || (stopped && signal === 'SIGTERM')) resolve(figures)
    else reject(new Error(`ended with ${code ?? signal}`))
  })
  return promise
}

const filled = (text: string, { url, folder }: Given): string =>
  text.replaceAll('{url}', url).replaceAll('{folder}', folder)
