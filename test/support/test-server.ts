import { access, mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { embeddedBinaries } from '../../src/db/embedded-binaries.ts'
import { stopOrphan } from '../../src/db/embedded-orphan.ts'
import { startEmbedded } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { runningOn } from '../../src/db/run-file.ts'
import { socketFolder } from '../../src/db/socket-folder.ts'

/** A server for a test run: holds the migrated template from which each test's database is cloned. */
export interface TestServer {
  readonly url: string
  stop(): Promise<void>
  killNow(): void
}

export const TEMPLATE = 'stellwerk_template'

const PREFIX = 'stellwerk-test-'

// A test database may be lost with its run: these make it fast, and have no place anywhere else.
const FAST = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  autovacuum: 'off',
  shared_buffers: '128MB',
  max_wal_size: '512MB',
}

/** In memory where there is room (a run takes 0.5 GB at most): a database has 400 files, and to make and remove them on a disk was a quarter of a run. */
async function parentFolder(): Promise<string> {
  const memory = await statfs('/dev/shm').catch(() => null)
  const free = memory === null ? 0 : memory.bavail * memory.bsize
  return free >= 2 * 1024 ** 3 ? '/dev/shm' : tmpdir()
}

/** Starts a PostgreSQL of the given age in a folder of its own and migrates its template. */
export async function startTestServer(major: 16 | 18): Promise<TestServer> {
  const dataDir = await mkdtemp(join(await parentFolder(), `${PREFIX}${major}-`))
  const embedded = await startEmbedded({ dataDir, settings: FAST, binaries: await embeddedBinaries(major) })
  await makeTemplate(embedded.url)
  return {
    url: embedded.url,
    killNow: () => embedded.kill('SIGQUIT'),
    async stop() {
      await embedded.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Stops the servers of runs that were killed, and removes their folders; those of runs under way stay. */
export async function sweepTestServers(): Promise<void> {
  for (const parent of ['/dev/shm', tmpdir()]) {
    const names = (await readdir(parent).catch(() => [])).filter((name) => name.startsWith(PREFIX))
    // Where one cannot be swept, another run is sweeping it at this moment.
    await Promise.allSettled(names.map((name) => sweep(join(parent, name))))
  }
}

async function sweep(dataDir: string): Promise<void> {
  // Fails where there is no owner file: that folder belongs to a run that has just begun.
  await access(join(dataDir, 'run.json'))
  if (await runningOn(dataDir)) return
  await stopOrphan(join(dataDir, 'postgres'), socketFolder(dataDir))
  for (const folder of [socketFolder(dataDir), dataDir]) await rm(folder, { recursive: true, force: true })
}

async function makeTemplate(url: string): Promise<void> {
  const admin = new Client({ connectionString: url })
  await admin.connect()
  await admin.query(`create database ${TEMPLATE}`)
  const template = new URL(url)
  template.pathname = `/${TEMPLATE}`
  await migrate(template.href)
  await admin.query(`alter database ${TEMPLATE} is_template true allow_connections false`)
  await admin.end()
}
