import type { WantedIndex } from '../../../sql/entity-index-parts.ts'
import type { FoundIndex } from '../../../sql/find-entity-indexes.ts'
import { readIndexSignature } from '../../../sql/read-index-signature.ts'
import type { DdlSession } from './ddl-session.ts'

/** What was done to the catalogue. */
export interface IndexChanges {
  readonly built: readonly string[]
  readonly dropped: readonly string[]
}

export interface IndexWork {
  readonly session: DdlSession
  readonly wanted: readonly WantedIndex[]
  /** The owner's indexes as they stand in the catalogue now. */
  readonly find: () => Promise<FoundIndex[]>
  /** Told before anything is changed, and once; throws: nothing is built. */
  readonly beforeBuild: () => Promise<void>
  /** Whether an index that looks right holds values of a function that has changed since. */
  readonly outdated: boolean
  readonly signal: AbortSignal
}

const table = 'mdm.ddm_entity'

/**
 * Makes the catalogue hold exactly the wanted indexes, each usable: leftovers of builds that broke off are dropped, an index of another definition is
 * replaced by one that was built beside it. It may be cut off anywhere: the next run reads the catalogue anew and goes on from there.
 */
export async function makeIndexesSo(work: IndexWork): Promise<IndexChanges> {
  const { session, wanted, find, signal } = work
  const built: string[] = []
  const dropped: string[] = []
  let told = false

  const drop = async (name: string): Promise<void> => {
    dropped.push(name)
    await session.run(`drop index concurrently if exists mdm.${name}`, signal)
  }

  const build = async (name: string, definition: string): Promise<void> => {
    if (!told) await work.beforeBuild()
    told = true
    await session.run(`create index concurrently ${name} on ${table} ${definition}`, signal)
    built.push(name)
  }

  const makeSo = async ({ name, newName, definition }: WantedIndex): Promise<void> => {
    const signature = await signatureOf(session, definition)
    let replacing = work.outdated
    for (;;) {
      const found = new Map((await find()).map((index) => [index.name, index]))
      for (const each of [newName, name]) {
        if (found.get(each)?.valid !== false) continue
        await drop(each)
        found.delete(each)
      }
      const isRight = (each: string): boolean => {
        const index = found.get(each)
        if (index !== undefined && index.signature !== signature && built.includes(each))
          throw new Error(`The server made another index of ${each} than it was asked for: ${index.signature}`)
        return index?.signature === signature
      }
      if (isRight(name) && !replacing) {
        if (found.has(newName)) await drop(newName)
        return
      }
      // One beside it that this run did not build may be as outdated as the one that it was to replace.
      if (isRight(newName) && (!replacing || built.includes(newName))) {
        if (found.has(name)) await drop(name)
        await session.run(`alter index mdm.${newName} rename to ${name}`, signal)
        replacing = false
      } else if (found.has(newName)) await drop(newName)
      else if (found.has(name)) await build(newName, definition)
      else {
        await build(name, definition)
        replacing = false
      }
    }
  }

  const names = new Set(wanted.flatMap(({ name, newName }) => [name, newName]))
  for (const index of wanted) await makeSo(index)
  for (const { name } of await find()) if (!names.has(name)) await drop(name)
  return { built, dropped }
}

/**
 * An invalid index serves no query and is still kept up to date by every writer (KINDS 0.2): a job that failed takes it along. Where somebody's
 * transaction is in the way for longer than `withinMs`, the next run finds it, or cleanup_jobs does.
 */
export async function dropLeftovers(session: DdlSession, find: IndexWork['find'], withinMs: number): Promise<void> {
  try {
    await session.limit(0, withinMs)
    for (const { name, valid } of await find())
      if (!valid) await session.run(`drop index concurrently if exists mdm.${name}`)
  } catch {
    // Also where the session itself has ended.
  }
}

/** The definition as the server reads it: made on an empty table that nobody sees, in a transaction that is rolled back. */
async function signatureOf(session: DdlSession, definition: string): Promise<string> {
  await session.run('begin')
  try {
    await session.run(`create temporary table ddl_probe (like ${table}) on commit drop`)
    await session.run(`create index ddl_probe_index on pg_temp.ddl_probe ${definition}`)
    const [row] = await readIndexSignature(session, 'pg_temp.ddl_probe_index')
    return row!.signature
  } finally {
    await session.run('rollback')
  }
}
