import { createHash } from 'node:crypto'
import { lstat, mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { giveTo, type Account } from './embedded-account.ts'

// A socket's path may have 107 bytes (103 on macOS), and PostgreSQL adds `/.s.PGSQL.5432.lock`.
const LONGEST_FOLDER = 80

/** Where the socket of the server on a data directory lies; the name follows from the directory's real path. */
export function socketFolder(dataDir: string): string {
  const name = `stellwerk-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  const inTemp = join(tmpdir(), name)
  return Buffer.byteLength(inTemp) <= LONGEST_FOLDER ? inTemp : join('/tmp', name)
}

/**
 * Makes the folder for the server's socket. Whoever may enter it may use the database, so it must be the server's own
 * and closed to others.
 */
export async function makeSocketFolder(dataDir: string, account: Account): Promise<string> {
  const folder = socketFolder(dataDir)
  const made = await mkdir(folder, { mode: 0o700 }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
      return false
    },
  )
  if (made) giveTo(account, folder)
  const stat = await lstat(folder)
  const owner = account.kind === 'other' ? account.uid : process.getuid?.()
  if (!stat.isDirectory() || stat.uid !== owner || (stat.mode & 0o077) !== 0) {
    throw new Error(
      `The folder ${folder} for the socket of the embedded PostgreSQL exists already, and is not a private folder of ` +
        'the account that the server runs under. Remove it, or set TMPDIR to another directory.',
    )
  }
  return folder
}
