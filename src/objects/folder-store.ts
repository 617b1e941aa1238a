import { randomBytes, randomUUID } from 'node:crypto'
import { copyFile, link, mkdir, open, readdir, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Stats } from 'node:fs'
import { measureStream } from './measure-stream.ts'
import {
  checkObjectKey,
  ObjectChanged,
  ObjectExists,
  ObjectMissing,
  type ObjectFacts,
  type ObjectStore,
} from './object-store.ts'

const unfinishedFolder = '.unfinished'
const unfinishedForMs = 24 * 60 * 60 * 1_000

/**
 * Objects as files below a folder, for their owner's eyes only. Every file is written under another name, forced to the disk and
 * then put in place, so that a key holds all of its bytes or none. Several instances may share the folder.
 */
export async function createFolderStore(folder: string): Promise<ObjectStore> {
  await mkdir(join(folder, unfinishedFolder), { recursive: true, mode: 0o700 })
  await dropUnfinished(join(folder, unfinishedFolder))
  const id = `folder:${await keepValue(join(folder, '.id'), randomUUID)}`
  const pathOf = (key: string): string => join(folder, checkObjectKey(key))
  const unfinished = (): string => join(folder, unfinishedFolder, randomUUID())

  const look = async (key: string): Promise<ObjectFacts | null> => {
    const found = await stat(pathOf(key)).catch(orNull)
    return found?.isFile() === true ? factsOf(found) : null
  }

  const put: ObjectStore['put'] = async (key, body, limits) => {
    const path = pathOf(key)
    const temporary = unfinished()
    const measure = measureStream(limits)
    try {
      // Opened first: a stream that opens it by itself may still do so after a body that breaks, and leave a file behind.
      await using file = await open(temporary, 'wx', 0o600)
      const target = file.createWriteStream({ flush: true })
      await pipeline(body, (source: AsyncIterable<Buffer>) => measure.through(source), target, {
        ...(limits.signal && { signal: limits.signal }),
      })
      await makeFolder(dirname(path))
      await placeNew(temporary, path, key)
      await syncFolder(dirname(path))
    } finally {
      await unlink(temporary).catch(orNull)
    }
    return { ...(await look(key))!, ...measure.result() }
  }

  /** Readers of `to` see the old bytes or the new ones. */
  const place = async (key: string, to: string, how: (from: string, to: string) => Promise<void>): Promise<void> => {
    const target = pathOf(to)
    await makeFolder(dirname(target))
    try {
      await how(pathOf(key), target)
    } catch (error) {
      throw isMissing(error) ? new ObjectMissing(key, { cause: error }) : error
    }
    await syncFolder(dirname(target))
  }

  return {
    id,
    direct: null,
    put,
    stat: look,
    async openRead(key) {
      try {
        const handle = await open(pathOf(key), 'r')
        return handle.createReadStream({ highWaterMark: 256 * 1024 })
      } catch (error) {
        throw isMissing(error) ? new ObjectMissing(key, { cause: error }) : error
      }
    },
    async move(from, to, etag) {
      const facts = await look(from)
      if (facts === null) throw new ObjectMissing(from)
      if (etag !== undefined && facts.etag !== etag) throw new ObjectChanged(from)
      await place(from, to, rename)
    },
    async copy(from, to) {
      const temporary = unfinished()
      await place(from, to, async (source, target) => {
        // Bytes under a key never change: a second name for them is a copy. Some file systems know no second names.
        await link(source, temporary).catch(async (error: unknown) => {
          if (isMissing(error)) throw error
          await copyFile(source, temporary)
        })
        await rename(temporary, target)
        // Renaming one name of a file to another of its names does nothing, and leaves both.
        await unlink(temporary).catch(orNull)
      })
    },
    async remove(key) {
      await unlink(pathOf(key)).catch(orNull)
    },
  }
}

/** The secret that URLs of a folder are signed with in development; who shares the folder shares it. */
export async function folderSecret(folder: string): Promise<string> {
  return keepValue(join(folder, '.secret'), () => randomBytes(32).toString('hex'))
}

function factsOf({ size, mtimeMs, ino }: Stats): ObjectFacts {
  return {
    sizeBytes: size,
    etag: `${size.toString(16)}-${Math.round(mtimeMs * 1_000).toString(16)}-${ino.toString(16)}`,
  }
}

/** A second name is made only where there is none yet: of two who store at once, one is told that the key is taken. */
async function placeNew(from: string, to: string, key: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw new ObjectExists(key, { cause: error })
    if ((await stat(to).catch(orNull)) !== null) throw new ObjectExists(key)
    await rename(from, to)
  }
}

/** Of several who start on a new folder, the first one's value holds for all. */
async function keepValue(path: string, make: () => string): Promise<string> {
  const unfinished = `${path}.${randomUUID()}`
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  await writeFile(unfinished, `${make()}\n`, { mode: 0o600, flush: true })
  try {
    await placeNew(unfinished, path, path)
  } catch (error) {
    if (!(error instanceof ObjectExists)) throw error
  } finally {
    await unlink(unfinished).catch(orNull)
  }
  return (await readFile(path, 'utf8')).trim()
}

/** What a process that was killed had not finished; a young file may be another instance's. */
async function dropUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await stat(path).catch(orNull)
    if (found !== null && Date.now() - found.mtimeMs > unfinishedForMs) await unlink(path).catch(orNull)
  }
}

const makeFolder = (path: string) => mkdir(path, { recursive: true, mode: 0o700 })

/** A new name survives a power cut once its folder is on the disk. */
async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

function orNull(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}
