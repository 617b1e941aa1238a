import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** One migration as it lies on the disk; `checksum` is Prisma's, the SHA-256 of the file in hex. */
export interface MigrationFile {
  readonly name: string
  readonly path: string
  readonly text: string
  readonly checksum: string
}

/** The migrations of a folder in the order of their names; throws when a name is not like `0001_words`. */
export async function migrationFiles(dir: string): Promise<MigrationFile[]> {
  const entries = await readdir(dir, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(names.toSorted().map((name) => readMigration(dir, name)))
}

async function readMigration(dir: string, name: string): Promise<MigrationFile> {
  // The name goes into SQL as it is.
  if (!/^\d{4,}_[a-z0-9_]+$/.test(name))
    throw new Error(`The migration folder ${join(dir, name)} must be named like 0001_words.`)
  const path = join(dir, name, 'migration.sql')
  const bytes = await readFile(path)
  return { name, path, text: bytes.toString('utf8'), checksum: createHash('sha256').update(bytes).digest('hex') }
}
