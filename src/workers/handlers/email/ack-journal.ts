import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { processBirth } from '../../../db/process-facts.ts'

/** That the provider took a job's message, as it said. */
export interface Ack {
  readonly jobId: string
  readonly providerMessageId: string | null
  readonly response: string
  readonly at: string
}

/**
 * Bridges the gap between the provider's answer and the commit: what it holds survives the process and the machine's power,
 * and every instance that runs on the data directory reads it, so that no mail goes out twice for a commit that was lost.
 */
export interface AckJournal {
  /** Resolves once the line is on the disk (0.5 to 2 ms; appends under way share it). */
  append(ack: Ack): Promise<void>
  find(jobId: string): Promise<Ack | null>
  /** Writes what dead processes left into the database and drops what it knows already. Throws when the database is away. */
  settle(): Promise<void>
  close(): Promise<void>
}

interface AckJournalOptions {
  readonly folder: string
  /** Writes acknowledgements into the email log; answers the jobs whose log says `sent` now. */
  readonly record: (acks: readonly Ack[]) => Promise<readonly string[]>
  readonly onError: (error: Error) => void
  readonly maxBytes?: number
}

interface Owner {
  readonly pid: number
  readonly birth: string | null
}

interface Current {
  readonly name: string
  readonly handle: FileHandle
  bytes: number
}

const forgetAfterMs = 7 * 24 * 60 * 60 * 1_000

export async function createAckJournal(options: AckJournalOptions): Promise<AckJournal> {
  const { folder, record, onError, maxBytes = 1024 * 1024 } = options
  const known = new Map<string, Ack>()
  const waiting: { line: string; resolve: () => void; reject: (error: unknown) => void }[] = []
  await mkdir(folder, { recursive: true, mode: 0o700 })
  /** Files of this journal, each from before it is there; and those of them that nothing more comes to. */
  const own = new Set<string>()
  const full = new Set<string>()
  const openNext = (): Promise<Current> => {
    const name = `${process.pid}-${randomUUID()}.jsonl`
    own.add(name)
    return openFile(folder, name)
  }
  let current = await openNext()
  /** The last write broke off, perhaps in the middle of a line. */
  let torn = false
  let writing: Promise<void> | undefined
  let settling: Promise<void> = Promise.resolve()

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0)
      const text = `${torn ? '\n' : ''}${batch.map(({ line }) => line).join('')}`
      try {
        await current.handle.appendFile(text)
        await current.handle.datasync()
        torn = false
        current.bytes += Buffer.byteLength(text)
        for (const { resolve } of batch) resolve()
      } catch (error) {
        torn = true
        for (const { reject } of batch) reject(error)
      }
      if (current.bytes > maxBytes) await rotate().catch(onError)
    }
    writing = undefined
  }

  const append = (ack: Ack): Promise<void> => {
    known.set(ack.jobId, ack)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.push({ line: `${JSON.stringify(ack)}\n`, resolve, reject })
    writing ??= write()
    return promise
  }

  const rotate = async (): Promise<void> => {
    const former = current
    current = await openNext()
    torn = false
    full.add(former.name)
    await former.handle.close()
    void settle().catch(onError)
  }

  const settleOnce = async (): Promise<void> => {
    // As of before the folder is read: what is made or filled meanwhile may not have been read whole.
    const whole = new Set(full)
    for (const file of await readFiles(folder, current.name)) {
      if (own.has(file.name) && !whole.has(file.name)) continue
      if (file.owner.pid !== process.pid && isAlive(file.owner)) continue
      const done = new Set(file.acks.length === 0 ? [] : await record(file.acks))
      for (const ack of file.acks) {
        if (done.has(ack.jobId) || Date.now() - Date.parse(ack.at) > forgetAfterMs) known.delete(ack.jobId)
        else await append(ack)
      }
      await unlink(file.path)
      own.delete(file.name)
      full.delete(file.name)
    }
  }

  const settle = (): Promise<void> => {
    const after = settling.then(settleOnce)
    settling = after.catch(() => undefined)
    return after
  }

  return {
    append,
    async find(jobId) {
      const own = known.get(jobId)
      if (own !== undefined) return own
      const files = await readFiles(folder, current.name)
      return files.flatMap(({ acks }) => acks).findLast((ack) => ack.jobId === jobId) ?? null
    },
    settle,
    async close() {
      await settling
      await writing
      await current.handle.close()
    },
  }
}

/** The first line says whose file it is: only what a dead process left may be taken over. */
async function openFile(folder: string, name: string): Promise<Current> {
  const handle = await open(join(folder, name), 'ax', 0o600)
  const owner: Owner = { pid: process.pid, birth: processBirth(process.pid) }
  await handle.appendFile(`${JSON.stringify(owner)}\n`)
  return { name, handle, bytes: 0 }
}

interface AckFile {
  readonly name: string
  readonly path: string
  readonly owner: Owner
  readonly acks: readonly Ack[]
}

async function readFiles(folder: string, except: string): Promise<AckFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl') && name !== except)
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      const [owner, ...acks] = (await readFile(path, 'utf8').catch(() => '')).split('\n').flatMap(parseLine)
      return { name, path, owner: { pid: 0, birth: null, ...(owner as Partial<Owner>) }, acks: acks as Ack[] }
    }),
  )
}

/** A line that its process could not finish is no line. */
function parseLine(line: string): unknown[] {
  try {
    return [JSON.parse(line)]
  } catch {
    return []
  }
}

function isAlive({ pid, birth }: Owner): boolean {
  return birth !== null && processBirth(pid) === birth
}
