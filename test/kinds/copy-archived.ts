import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createFolderArchive } from '../../src/objects/worm-archive.ts'
import { copyFromArchive } from '../../src/workers/handlers/documents/copy-from-archive.ts'

interface Order {
  readonly archiveDir: string
  readonly archiveKey: string
  readonly sha256: string
  readonly sizeBytes: number
  readonly path: string
}

/** Copies what its argument names out of the archive, and says whether it could have written there. */
const order = JSON.parse(process.argv[2]!) as Order
const mayWrite = await open(join(order.archiveDir, order.archiveKey), 'r+').then(
  () => 'yes',
  (error: NodeJS.ErrnoException) => error.code,
)
await copyFromArchive(createFolderArchive(order.archiveDir).archive, order, order.path, AbortSignal.timeout(10_000))
process.stdout.write(JSON.stringify({ mayWrite, copied: true }))
