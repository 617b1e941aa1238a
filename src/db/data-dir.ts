import { chmod, mkdir, readdir, realpath } from 'node:fs/promises'
import { resolve } from 'node:path'

/**
 * Makes the data directory, for its owner's eyes only, and answers its real path. A folder that already holds other
 * things keeps its mode: what Stellwerk puts there is closed to others by itself.
 */
export async function makeDataDir(path: string): Promise<string> {
  const absolute = resolve(path)
  try {
    await mkdir(absolute, { recursive: true, mode: 0o700 })
    const entries = await readdir(absolute)
    if (entries.length === 0 || entries.includes('postgres')) await chmod(absolute, 0o700)
    return await realpath(absolute)
  } catch (error) {
    throw new Error(
      `The data directory ${absolute} cannot be used (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}). ` +
        'Set STELLWERK_DATA_DIR to a directory that this account may write to.',
      { cause: error },
    )
  }
}
