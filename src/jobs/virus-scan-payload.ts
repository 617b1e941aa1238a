import { z } from 'zod'

/** A scan of an uploaded file. */
export const virusScanPayload = z.strictObject({
  attachment_id: z.uuid(),
  /** The version of the bytes that is meant; missing: the one that was committed. */
  etag: z.string().min(1).max(200).optional(),
  /** `rescan`: also where they were judged before. */
  attempt_reason: z.enum(['commit', 'rescan']).default('rescan'),
})

/** A checked payload of `virus_scan`. */
export type VirusScanPayload = z.output<typeof virusScanPayload>
