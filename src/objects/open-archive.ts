import { join } from 'node:path'
import type { Config } from '../config.ts'
import type { ObjectStore } from './object-store.ts'
import { createFolderArchive, createStoreArchive, type DocumentArchive } from './worm-archive.ts'

interface OpenArchive {
  readonly config: Pick<Config, 'archiveDir' | 's3'>
  readonly dataDir: string
  readonly objects: ObjectStore
}

/** The folder of STELLWERK_ARCHIVE_DIR; else the bucket, if there is one; else a folder in the data directory. */
export function openArchive({ config, dataDir, objects }: OpenArchive): DocumentArchive {
  if (config.archiveDir === null && config.s3 !== null) return createStoreArchive(objects)
  return createFolderArchive(config.archiveDir ?? join(dataDir, 'archive'))
}
