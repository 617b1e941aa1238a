import type { JobKind, KindCatalogue } from '../jobs/kind.ts'
import { payloadJsonSchema } from '../jobs/payload-json-schema.ts'
import { registerKinds as write, type KindRow } from '../sql/register-kinds.ts'
import type { Queryable } from '../sql/statement.ts'

/**
 * Writes the catalogue into the database, where SQL callers, recovery and other instances read it; the last start wins.
 * Answers the names of kinds that another start had left there with other defaults (event kinds:differ).
 */
export async function registerKinds(db: Queryable, catalogue: KindCatalogue): Promise<string[]> {
  const rows = await write(db, JSON.stringify([...catalogue.values()].map(kindRow)))
  return rows.map(({ name }) => name)
}

function kindRow({ name, description, defaults, inputField, payload, example, redact }: JobKind): KindRow {
  return {
    name,
    description,
    priority: defaults.priority,
    max_attempts: defaults.maxAttempts,
    backoff_base_ms: defaults.backoff.baseMs,
    backoff_max_ms: defaults.backoff.maxMs,
    backoff_jitter: defaults.backoff.jitter,
    timeout_ms: defaults.timeoutMs,
    stale_after_ms: defaults.staleAfterMs,
    max_concurrency: defaults.maxConcurrency,
    retention_ms: defaults.retentionMs,
    rate_limit: defaults.rateLimit,
    provider: defaults.provider,
    input_field: inputField,
    payload_schema: payloadJsonSchema(payload),
    payload_example: example,
    redacted_paths: redact,
  }
}
