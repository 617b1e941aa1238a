import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { makeDataDir } from './data-dir.ts'
import { embeddedBinaries, type EmbeddedBinaries } from './embedded-binaries.ts'
import { ensureCluster } from './embedded-cluster.ts'
import { startServer, type Settings } from './embedded-server.ts'
import { claimRunFile, runningOn, type RunFile } from './run-file.ts'
import { makeSocketFolder } from './socket-folder.ts'

export interface EmbeddedOptions {
  /** Holds the cluster in `postgres/`, the address in `database.url` and the owner in `run.json`. */
  readonly dataDir: string
  /** PostgreSQL settings, over the product's own. */
  readonly settings?: Settings
  readonly binaries?: EmbeddedBinaries | null
  /** Gets each line that the server writes. */
  readonly log?: (line: string) => void
}

/** A PostgreSQL server of this process' own, reachable only through a socket in a private folder. */
export interface EmbeddedPostgres {
  readonly url: string
  readonly pid: number
  readonly runFile: RunFile
  /** Fulfilled when the server has ended, asked for or not. */
  readonly exited: Promise<void>
  /** Stops the server, at once but cleanly, and gives the data directory up. */
  stop(): Promise<void>
  kill(signal: NodeJS.Signals): void
}

// Durability stays PostgreSQL's default, which is full: nothing that was committed may be lost.
const PRODUCT_SETTINGS: Settings = {
  cluster_name: 'stellwerk',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_connections: 200,
  shared_buffers: '256MB',
  // The default of 1 GB means a checkpoint every few seconds under full load.
  max_wal_size: '4GB',
  log_checkpoints: 'off',
}

/**
 * Starts the embedded PostgreSQL on a data directory, making both where they are missing. Throws DataDirInUse when
 * another process runs there, and an Error that names the remedy when this system cannot run it.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const installed = options.binaries === undefined ? await embeddedBinaries() : options.binaries
  if (!installed || process.platform === 'win32') throw noBinaries()
  const dataDir = await makeDataDir(options.dataDir)
  const runFile = await claimRunFile(dataDir)
  try {
    const settings = { ...PRODUCT_SETTINGS, ...options.settings }
    const cluster = await ensureCluster(dataDir, installed, settings.fsync !== 'off')
    const sockets = await makeSocketFolder(dataDir, cluster.account)
    const server = await startServer(cluster, sockets, settings, options.log ?? (() => {}))
    try {
      const url = await makeDatabase(sockets)
      await writeFile(join(dataDir, 'database.url'), `${url}\n`, { mode: 0o600 })
      const stop = async () => {
        await server.stop()
        await rm(sockets, { recursive: true, force: true })
        await runFile.release()
      }
      let stopped: Promise<void> | undefined
      return {
        url,
        pid: server.pid,
        runFile,
        exited: server.exited,
        kill: server.kill,
        stop: () => (stopped ??= stop()),
      }
    } catch (error) {
      await server.stop()
      throw error
    }
  } catch (error) {
    await runFile.release()
    throw error
  }
}

/** The address of the server that another process runs on the data directory; null where none does. */
export async function runningEmbedded(dataDir: string): Promise<string | null> {
  if ((await runningOn(dataDir)) === null) return null
  const url = await readFile(join(dataDir, 'database.url'), 'utf8').catch(() => null)
  return url?.trim() ?? null
}

/** Makes the database where it is missing, also after a first start that ended between the server and this step. */
async function makeDatabase(sockets: string): Promise<string> {
  const url = (database: string) =>
    `postgresql://postgres@localhost:5432/${database}?host=${encodeURIComponent(sockets)}`
  const client = new Client({ connectionString: url('postgres') })
  await client.connect()
  try {
    const { rowCount } = await client.query(`select from pg_database where datname = 'stellwerk'`)
    if (rowCount === 0) await client.query('create database stellwerk')
  } finally {
    await client.end()
  }
  return url('stellwerk')
}

function noBinaries(): Error {
  return new Error(
    `There is no embedded PostgreSQL for this platform (${process.platform} ${process.arch}), or npm was told to leave ` +
      'optional dependencies out. Set DATABASE_URL to a PostgreSQL 16 or newer.',
  )
}
