import { z } from 'zod'

/** What a bulk_import job carries: the state of an import lives in its tables, so that a job only says which one goes on. */
export const bulkImportPayload = z.strictObject({
  import_job_id: z.uuid(),
  /** `commit`: an import that was a dry run goes on. Other phases are where they are. */
  phase: z.enum(['stage', 'validate', 'commit']).optional(),
  /** Entities in one transaction. */
  batch_size: z.int().min(1).max(2_000).optional(),
})

export type BulkImportPayload = z.infer<typeof bulkImportPayload>
