import { statement } from './statement.ts'

/** A kind as a row of aa_job_kind, in its columns' names. */
export interface KindRow {
  readonly name: string
  readonly description: string
  readonly priority: number
  readonly max_attempts: number
  readonly backoff_base_ms: number
  readonly backoff_max_ms: number
  readonly backoff_jitter: number
  readonly timeout_ms: number
  readonly stale_after_ms: number
  readonly max_concurrency: number | null
  readonly retention_ms: number | null
  readonly rate_limit: { readonly rps: number; readonly burst: number } | null
  readonly provider: string | null
  readonly input_field: string | null
  readonly payload_schema: unknown
  readonly payload_example: unknown
  readonly redacted_paths: readonly string[]
}

/** `$1` is a JSON array of KindRow; answers the names of kinds that stood there with other defaults. */
export const registerKinds = statement<[kindsJson: string], { name: string }>(
  'register_kinds',
  `-- writes the kinds' defaults as this instance knows them, by the primary key of aa_job_kind: the last start wins
with given as materialized (
  select * from jsonb_to_recordset($1::jsonb) as g(name text, description text, priority int, max_attempts int, backoff_base_ms bigint, backoff_max_ms bigint,
         backoff_jitter double precision, timeout_ms bigint, stale_after_ms bigint, max_concurrency int, retention_ms bigint, rate_limit jsonb, provider text,
         input_field text, payload_schema jsonb, payload_example jsonb, redacted_paths text[])),
before as materialized (select k.* from mdm.aa_job_kind k join given using (name)),
written as (
  insert into mdm.aa_job_kind as k (name, description, priority, max_attempts, backoff_base_ms, backoff_max_ms, backoff_jitter, timeout_ms, stale_after_ms,
         max_concurrency, retention_ms, rate_limit, provider, input_field, payload_schema, payload_example, redacted_paths)
  select name, description, priority, max_attempts, backoff_base_ms, backoff_max_ms, backoff_jitter, timeout_ms, stale_after_ms,
         max_concurrency, retention_ms, nullif(rate_limit, 'null'), provider, input_field, payload_schema, payload_example, redacted_paths
    from given
   order by name
  on conflict (name) do update set
         description = excluded.description, priority = excluded.priority, max_attempts = excluded.max_attempts, backoff_base_ms = excluded.backoff_base_ms,
         backoff_max_ms = excluded.backoff_max_ms, backoff_jitter = excluded.backoff_jitter, timeout_ms = excluded.timeout_ms,
         stale_after_ms = excluded.stale_after_ms, max_concurrency = excluded.max_concurrency, retention_ms = excluded.retention_ms,
         rate_limit = excluded.rate_limit, provider = excluded.provider, input_field = excluded.input_field, payload_schema = excluded.payload_schema,
         payload_example = excluded.payload_example, redacted_paths = excluded.redacted_paths, updated_at = now())
select before.name
  from before join given using (name)
 where (before.priority, before.max_attempts, before.backoff_base_ms, before.backoff_max_ms, before.backoff_jitter, before.timeout_ms, before.stale_after_ms,
        before.max_concurrency, before.retention_ms, before.rate_limit, before.provider)
       is distinct from
       (given.priority, given.max_attempts, given.backoff_base_ms, given.backoff_max_ms, given.backoff_jitter, given.timeout_ms, given.stale_after_ms,
        given.max_concurrency, given.retention_ms, nullif(given.rate_limit, 'null'), given.provider)
 order by before.name`,
)
