import { statement } from './statement.ts'

/** A kind as the instances last started with it. Times in milliseconds. */
export interface RegisteredKind {
  readonly name: string
  readonly description: string
  readonly priority: number
  readonly maxAttempts: number
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
  readonly backoffJitter: number
  readonly timeoutMs: number
  readonly staleAfterMs: number
  readonly maxConcurrency: number | null
  readonly retentionMs: number | null
  readonly rateLimit: { readonly rps: number; readonly burst: number } | null
  readonly inputField: string | null
  readonly payloadSchema: Readonly<Record<string, unknown>>
  readonly payloadExample: unknown
  readonly redactedPaths: readonly string[]
}

export const readKinds = statement<[names: readonly string[] | null], RegisteredKind>(
  'read_kinds',
  `-- reads registered kinds by name, or all of them in order of name, by the primary key
select k.name, k.description, k.priority, k.max_attempts as "maxAttempts", k.backoff_base_ms::float8 as "backoffBaseMs",
       k.backoff_max_ms::float8 as "backoffMaxMs", k.backoff_jitter as "backoffJitter", k.timeout_ms::float8 as "timeoutMs",
       k.stale_after_ms::float8 as "staleAfterMs", k.max_concurrency as "maxConcurrency", k.retention_ms::float8 as "retentionMs",
       k.rate_limit as "rateLimit", k.input_field as "inputField", k.payload_schema as "payloadSchema", k.payload_example as "payloadExample",
       k.redacted_paths as "redactedPaths"
  from mdm.aa_job_kind k
 where $1::text[] is null or k.name = any ($1)
 order by k.name`,
)
