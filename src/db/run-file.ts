import { createHash, randomUUID } from 'node:crypto'
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processBirth } from './process-facts.ts'

/** Who runs on a data directory: `port` is null until HTTP listens; `birth` guards against a reused process number. */
export interface RunRecord {
  readonly pid: number
  readonly port: number | null
  readonly started: string
  readonly birth: string | null
}

/** This process' claim on its data directory. */
export interface RunFile {
  /** The process that ended here without releasing its claim, if the last one did: its jobs can be recovered at once. */
  readonly previous: RunRecord | null
  setPort(port: number): Promise<void>
  release(): Promise<void>
}

/** Another living process holds the data directory. */
export class DataDirInUse extends Error {
  override name = 'DataDirInUse'
}

/** Makes this process the only owner of the data directory; throws DataDirInUse when a living process is. */
export async function claimRunFile(dataDir: string): Promise<RunFile> {
  const path = join(dataDir, 'run.json')
  const started = new Date(Date.now() - process.uptime() * 1000).toISOString()
  const record = (port: number | null) =>
    JSON.stringify({ pid: process.pid, port, started, birth: processBirth(process.pid) } satisfies RunRecord) + '\n'
  let text = record(null)
  const previous = await claim(path, text, dataDir)
  await sweepScraps(dataDir)
  return {
    previous,
    async setPort(port) {
      text = record(port)
      await replace(path, text)
    },
    async release() {
      if ((await readIfThere(path)) === text) await rm(path, { force: true })
    },
  }
}

/** The living process that holds the data directory, or null. */
export async function runningOn(dataDir: string): Promise<RunRecord | null> {
  const record = parse(await readIfThere(join(dataDir, 'run.json')))
  return record && isAlive(record) ? record : null
}

/**
 * A hard link is made by exactly one of several. The place of a dead owner goes to the one that claims the turn named
 * after what the dead one left, and only if that still stands there: so a late comer cannot push out the new owner.
 */
async function claim(path: string, text: string, dataDir: string): Promise<RunRecord | null> {
  const mine = scrap(path)
  await writeFile(mine, text, { mode: 0o600 })
  try {
    for (;;) {
      if (await linked(mine, path)) return null
      const held = await readIfThere(path)
      if (held === null) continue
      const owner = parse(held)
      if (owner && isAlive(owner)) throw inUse(dataDir, owner)
      const turn = `${path}.after-${createHash('sha256').update(held).digest('hex').slice(0, 16)}`
      await claim(turn, text, dataDir)
      try {
        if ((await readIfThere(path)) !== held) continue
        await rename(mine, path)
        return owner
      } finally {
        await rm(turn, { force: true })
      }
    }
  } finally {
    await rm(mine, { force: true })
  }
}

/** A name for what is still being written, with the number of its writer. */
function scrap(path: string): string {
  return `${path}.${process.pid}-${randomUUID()}`
}

/** Removes what writers left that were killed in the middle. */
async function sweepScraps(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => name.startsWith('run.json.'))
  for (const name of names) {
    const writer = /\.(\d+)-[0-9a-f-]{36}$/.exec(name)?.[1]
    const owner = writer ? null : parse(await readIfThere(join(dataDir, name)))
    const inUse = writer ? processBirth(Number(writer)) !== null : owner !== null && isAlive(owner)
    if (!inUse) await rm(join(dataDir, name), { force: true })
  }
}

function inUse(dataDir: string, owner: RunRecord): DataDirInUse {
  const who = owner.pid === process.pid ? 'this very process' : `process ${owner.pid}, started ${owner.started}`
  return new DataDirInUse(
    `The data directory ${dataDir} is in use by ${who}. ` +
      `Stop that process (kill ${owner.pid}), or set STELLWERK_DATA_DIR to another directory for this one.`,
  )
}

function isAlive(record: RunRecord): boolean {
  const birth = processBirth(record.pid)
  return birth !== null && birth === record.birth
}

function parse(text: string | null): RunRecord | null {
  try {
    const record = JSON.parse(text ?? '') as RunRecord
    return Number.isSafeInteger(record.pid) ? record : null
  } catch {
    return null
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function replace(path: string, text: string): Promise<void> {
  const next = scrap(path)
  await writeFile(next, text, { mode: 0o600 })
  await rename(next, path)
}

async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
