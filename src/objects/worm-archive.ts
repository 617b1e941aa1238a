import { constants } from 'node:fs'
import { mkdir, open, stat, unlink, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { measureStream } from './measure-stream.ts'
import {
  checkObjectKey,
  ObjectExists,
  ObjectMissing,
  type ObjectFacts,
  type ObjectStore,
  type PutLimits,
  type StoredObject,
} from './object-store.ts'

/** The archive as those see it who work on documents: written once, read many times. There is no way to change anything. */
export interface WormArchive {
  /** Throws ObjectMissing. */
  openRead(key: string): Promise<Readable>
  /** Null: there is none. */
  stat(key: string): Promise<ObjectFacts | null>
}

/** The archive's door, for uploads alone. */
export interface ArchiveIntake {
  /** Throws ObjectTooLarge, and ObjectExists where the key is taken; then nothing is stored. */
  store(key: string, body: Readable, limits: PutLimits): Promise<StoredObject>
  /** Takes back what was stored for a row that did not come to be. */
  withdraw(key: string): Promise<void>
}

export interface DocumentArchive {
  readonly archive: WormArchive
  readonly intake: ArchiveIntake
}

/** An archive below a folder: files that nobody may write (0444), never opened but for reading once they are there. */
export function createFolderArchive(folder: string): DocumentArchive {
  const pathOf = (key: string): string => join(folder, checkObjectKey(key))

  return {
    archive: {
      async openRead(key) {
        const file = await open(pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW).catch((error: unknown) => {
          throw isMissing(error) ? new ObjectMissing(key, { cause: error }) : error
        })
        return file.createReadStream({ highWaterMark: 256 * 1024 })
      },
      async stat(key) {
        const found = await stat(pathOf(key)).catch((error: unknown) => {
          if (isMissing(error)) return null
          throw error
        })
        return found?.isFile() === true ? { sizeBytes: found.size, etag: `${found.size}-${found.mtimeMs}` } : null
      },
    },
    intake: {
      async store(key, body, limits) {
        const path = pathOf(key)
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        const file = await createFile(path, key)
        const measure = measureStream(limits)
        try {
          await writeAll(file, body, measure.through, limits.signal)
          await syncFolder(dirname(path))
        } catch (error) {
          await unlink(path)
          throw error
        }
        const { size, mtimeMs } = await stat(path)
        return { ...measure.result(), etag: `${size}-${mtimeMs}` }
      },
      async withdraw(key) {
        await unlink(pathOf(key)).catch((error: unknown) => {
          if (!isMissing(error)) throw error
        })
      },
    },
  }
}

/** An archive in an object store, below `documents/`. There, what may not be written is a matter of the bucket's policy. */
export function createStoreArchive(store: ObjectStore): DocumentArchive {
  const at = (key: string): string => `documents/${key}`
  return {
    archive: { openRead: (key) => store.openRead(at(key)), stat: (key) => store.stat(at(key)) },
    intake: {
      store: (key, body, limits) => store.put(at(key), body, limits),
      withdraw: (key) => store.remove(at(key)),
    },
  }
}

async function createFile(path: string, key: string): Promise<FileHandle> {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  try {
    return await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o444)
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? new ObjectExists(key, { cause: error }) : error
  }
}

/** On the disk when it resolves. */
async function writeAll(
  file: FileHandle,
  body: Readable,
  through: (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const target = file.createWriteStream({ flush: true })
  await pipeline(body, (source: AsyncIterable<Buffer>) => through(source), target, { ...(signal && { signal }) })
}

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
