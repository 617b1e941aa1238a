import type { JobInput } from './typed-payload.ts'

/** The input `EnqueueJobInput`. */
export interface EnqueueJobInput {
  readonly job: JobInput
  readonly tenantId?: string | null | undefined
  readonly idempotencyKey?: string | null | undefined
  readonly onConflict: 'IGNORE' | 'UPDATE'
  /** One of the two; `after` in milliseconds. */
  readonly schedule?:
    | { readonly at?: Date | null | undefined; readonly after?: number | null | undefined }
    | null
    | undefined
  readonly priority?: number | null | undefined
  readonly maxAttempts?: number | null | undefined
  readonly tags?: readonly string[] | null | undefined
  readonly correlationId?: string | null | undefined
}
