import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chooseAccount, commandAs, giveTo, type Account } from './embedded-account.ts'
import { copyBinaries, linkLibraries, type EmbeddedBinaries } from './embedded-binaries.ts'

/** A cluster of files that Stellwerk itself made, and what is needed to run a server on it. */
export interface Cluster {
  readonly dir: string
  readonly account: Account
  readonly binaries: EmbeddedBinaries
}

// Proves that a cluster is Stellwerk's own: one without it is never started, stopped or changed.
const MARK = 'stellwerk.made'

/**
 * Finds the cluster of the data directory or makes it. It is made under another name and renamed when it is whole, so
 * that a first start that is killed at any moment leaves only a scrap, which the next one sweeps away.
 */
export async function ensureCluster(dataDir: string, installed: EmbeddedBinaries, durable: boolean): Promise<Cluster> {
  const dir = join(dataDir, 'postgres')
  const account = chooseAccount(dir)
  giveTo(account, dataDir)
  const binaries = await runnableBinaries(account, installed, dataDir)
  await sweepScraps(dataDir)
  if (!(await isThere(dir))) await makeCluster(dataDir, { dir, account, binaries }, durable)
  if (!(await isThere(join(dir, MARK)))) {
    throw new Error(
      `${dir} was not made by Stellwerk, so it is left untouched. Set STELLWERK_DATA_DIR to another directory, ` +
        'or start that PostgreSQL yourself and set DATABASE_URL.',
    )
  }
  return { dir, account, binaries }
}

async function makeCluster(dataDir: string, { dir, account, binaries }: Cluster, durable: boolean): Promise<void> {
  const unfinished = `${dir}.new-${randomUUID()}`
  await mkdir(unfinished, { mode: 0o700 })
  giveTo(account, unfinished)
  const locale = process.platform === 'linux' ? 'C.UTF-8' : 'en_US.UTF-8'
  await run(
    commandAs(account, join(binaries.folder, 'bin/initdb'), [
      ...['-D', unfinished, '-U', 'postgres', '--encoding=UTF8', `--locale=${locale}`, '--no-instructions'],
      // Only the socket in a private folder lets anybody in: TCP stays closed, even if somebody opens a port by hand.
      ...['--auth-local=trust', '--auth-host=reject'],
      ...(Number.parseInt(binaries.version) >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []),
      ...(durable ? [] : ['--no-sync']),
    ]),
  )
  await writeFile(join(unfinished, MARK), `${new Date().toISOString()}\n`)
  giveTo(account, join(unfinished, MARK))
  await rename(unfinished, dir)
  if (durable) await syncFolder(dataDir)
}

async function sweepScraps(dataDir: string): Promise<void> {
  const scraps = (await readdir(dataDir)).filter((name) => name.startsWith('postgres.new-'))
  for (const name of scraps) {
    // An initdb that outlived its killed parent may still be writing here; what cannot go now goes at the next start.
    await rm(join(dataDir, name), { recursive: true, force: true }).catch(() => {})
  }
}

/** Sees to it that the programs start under the account, from a copy if they do not where npm has put them. */
async function runnableBinaries(
  account: Account,
  installed: EmbeddedBinaries,
  dataDir: string,
): Promise<EmbeddedBinaries> {
  const linked = await linkLibraries(installed).then(
    () => true,
    () => false,
  )
  if (linked && starts(account, installed) === null) return installed
  const copy = await copyBinaries(installed, dataDir)
  const refusal = starts(account, copy)
  if (refusal === null) return copy
  throw new Error(
    `The embedded PostgreSQL does not start on this system (${refusal}). ` +
      (account.kind === 'other'
        ? `It runs as account ${account.uid}, which must be able to enter ${dataDir}: set STELLWERK_DATA_DIR to such a ` +
          'directory, run Stellwerk as an ordinary user, or set DATABASE_URL to a PostgreSQL of yours.'
        : 'Set DATABASE_URL to a PostgreSQL of yours.'),
  )
}

function starts(account: Account, { folder }: EmbeddedBinaries): string | null {
  const { file, args, options } = commandAs(account, join(folder, 'bin/postgres'), ['--version'])
  const { status, error, stderr } = spawnSync(file, args, {
    cwd: '/',
    uid: options.uid,
    gid: options.gid,
    encoding: 'utf8',
  })
  return status === 0 ? null : (error?.message ?? (stderr.trim() || `exit code ${status}`))
}

function run({ file, args, options }: ReturnType<typeof commandAs>): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.once('error', reject)
  child.once('close', (code, signal) =>
    code === 0
      ? resolve()
      : reject(new Error(`The embedded PostgreSQL could not be set up (initdb: ${code ?? signal}): ${said.trim()}`)),
  )
  return promise
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
