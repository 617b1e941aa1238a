import type { Pool } from 'pg'
import type { ObjectStore } from '../../../objects/object-store.ts'
import { deleteImportRows } from '../../../sql/delete-import-rows.ts'
import { findLostImportUploads } from '../../../sql/find-lost-import-uploads.ts'
import { findOldImports } from '../../../sql/find-old-imports.ts'
import { forgetImportUpload } from '../../../sql/forget-import-upload.ts'
import { purgeImport } from '../../../sql/purge-import.ts'
import type { CleanupStep } from '../cleanup-jobs.ts'

interface ImportStepsDeps {
  readonly pool: Pool
  readonly store: ObjectStore
}

const keepMs = 30 * 24 * 60 * 60 * 1_000
const importsAtOnce = 100
const rowsAtOnce = 5_000

/**
 * Rows and files of imports that ended thirty days ago; their counts stay. And files that never became an import, since the process
 * that took them died. What lies in another instance's own store is left to that instance.
 */
export function importSteps({ pool, store }: ImportStepsDeps): CleanupStep[] {
  return [
    {
      name: 'imports',
      async run({ signal }) {
        let purged = 0
        for (const { id, objectKeys } of await findOldImports(pool, store.id, keepMs, importsAtOnce)) {
          for (let deleted = rowsAtOnce; deleted === rowsAtOnce;) {
            if (signal.aborted) return { purgedImports: purged }
            const [batch] = await deleteImportRows(pool, id, rowsAtOnce)
            deleted = batch!.deleted
          }
          for (const key of objectKeys) await store.remove(key)
          purged += (await purgeImport(pool, id)).length
        }
        return { purgedImports: purged }
      },
    },
    {
      name: 'lost import files',
      async run({ signal }) {
        let removed = 0
        for (const { id, objectKey } of await findLostImportUploads(pool, store.id, importsAtOnce)) {
          if (signal.aborted) break
          await store.remove(objectKey)
          await forgetImportUpload(pool, id)
          removed += 1
        }
        return { lostImportFiles: removed }
      },
    },
  ]
}
