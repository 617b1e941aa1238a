/** A job that was checked and may go in. */
export interface EnqueueOrder {
  readonly tenantId: string
  readonly kind: string
  readonly payloadText: string
  /** Null: the kind's. */
  readonly priority: number | null
  readonly maxAttempts: number | null
  /** Null: at once. */
  readonly schedule: { readonly at: Date } | { readonly afterMs: number } | null
  readonly idempotencyKey: string | null
  /** On an existing key: replace payload, priority and time while the old job is pending. */
  readonly replaces: boolean
  readonly tags: readonly string[]
  readonly correlationId: string | null
  readonly traceContext: string | null
  readonly actor: string
  readonly requestId: string
}
