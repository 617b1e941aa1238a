import { randomBytes } from 'node:crypto'
import { scopes } from '../../src/jobs/permissions.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { createBulkRunner } from '../../src/workers/bulk-runner.ts'
import { createRollup } from '../../src/workers/rollup.ts'
import { testWorker } from '../sql/support.ts'
import { caller, type TestApi } from './support.ts'

const mutations = buildSchema().getMutationType()!.getFields()

/** What a tenant has that operations may name, and what nobody else may ever read. */
export interface TenantData {
  readonly id: string
  readonly key: string
  /** Stands in every text of the tenant's, and is never part of an operation. */
  readonly secret: string
  readonly texts: readonly string[]
  /** Node ids of jobs in every status, and of what is found only by the right id of another thing. */
  readonly ids: readonly string[]
}

/** Gives a tenant one of every sort of thing that there is, and some. Whoever makes a new sort adds it here. */
export async function tenantWithEverything(api: TestApi, key: string): Promise<TenantData> {
  const secret = `${key}-secret-${crypto.randomUUID()}`
  const id = await api.tenant(key)
  await api.sql(`update mdm.aa_tenant set name = $2 where id = $1`, [id, `Name of ${secret}`])
  const own = caller({ tenantIds: [id], may: scopes })
  const act = async (field: string, input: object, selection = 'errors { message }') => {
    const type = String(mutations[field]!.args[0]!.type)
    const { data, errors } = await api.run(
      `mutation ($input: ${type}) { ${field}(input: $input) { ${selection} } }`,
      { input },
      own,
    )
    const refused = errors[0] ?? data[field].errors[0]
    if (refused !== undefined) throw new Error(`${field}: ${refused.message}`)
    return data[field]
  }

  const texts = ['tag', 'key', 'correlation'].map((sort) => `${key}-${sort}`)
  const [tag, idempotencyKey, correlationId] = texts as [string, string, string]
  const jobs = Array.from({ length: 12 }, (_, index) => ({
    job: { custom: { kind: index % 2 === 0 ? 'echo' : 'resize_image', payload: payloadOf(index) } },
    idempotencyKey: `${idempotencyKey}-${index}`,
    tags: [tag],
    correlationId,
  }))
  function payloadOf(index: number): object {
    return index % 2 === 0 ? { login: 'ada', [secret]: secret } : { url: `https://example.org/${secret}` }
  }
  const { results } = await act('enqueueJobs', { jobs }, 'results { job { id } errors { message } } errors { message }')
  const ids = results.map(({ job }: { job: { id: string } }) => job.id) as string[]

  // As the workers leave jobs, with what they say in them.
  const worker = await testWorker(api.pool, `host-of-${key}`)
  // It lives as long as the tests take.
  await api.sql(`update mdm.aa_instance set heartbeat_at = now() + interval '1 hour' where id = $1`, [
    worker.instanceId,
  ])
  for (const [index, status] of ['running', 'done', 'dlq', 'dlq', 'dlq', 'failed'].entries())
    await api.sql(
      `with moved as (
         update mdm.aa_job set status = $2::text::mdm.job_status, attempts = 1, runs = 1, revision = 3, claim_revision = 2, claimed_by = $3, claimed_at = now(), lease = case when $2::text = 'running' then $6::bigint end,
                completed_at = case when $2::text <> 'running' then now() end, dead_at = case when $2::text in ('dlq', 'failed') then now() end,
                last_error = $4, error_fingerprint = $5, progress = null, result = case when $2::text = 'done' then to_jsonb($4::text) end
          where id = $1::uuid returning id, lease)
       insert into mdm.aa_claim (lease, job_ids, instance_id) select lease, array[id], $7::uuid from moved where lease is not null`,
      [
        ids[index]!.slice(4),
        status,
        worker.name,
        `Error: ${secret} broke`,
        `${key}-fingerprint`,
        leaseNumber(),
        worker.instanceId,
      ],
    )
  await api.sql(
    `insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, reason, payload, wait_ms, run_ms)
     select j.id, j.tenant_id, 'job_retry', 3, j.job_kind, 'user:' || $2::text, $2::text, jsonb_build_object('error', $2::text), 10, 10 from mdm.aa_job j where j.tenant_id = $1 and j.status <> 'pending'`,
    [id, secret],
  )
  // More of them than the other tenant has of anything: a number that counts them tells on itself.
  await api.sql(
    `insert into mdm.aa_job (tenant_id, job_kind, revision, payload, tags, status, dead_at, completed_at, last_error, error_fingerprint)
     select $1, 'echo', 1, jsonb_build_object('secret', $2::text), array[$3::text], 'dlq', now(), now(), 'Error: ' || $2::text, $4 from generate_series(1, $5::int)`,
    [id, secret, tag, `${key}-fingerprint`, key === 'beta' ? manyJobs : 0],
  )
  await api.sql(
    `insert into mdm.aa_audit_log (tenant_id, job_kind, action, wait_ms, run_ms) select $1, 'echo', 'job_done', 10, 10 from generate_series(1, $2::int)`,
    [id, key === 'beta' ? manyJobs : 0],
  )
  await createRollup({ pool: api.pool, events: api.deps.events, everyMs: 1_000 }).runOnce()

  await act('cancelJob', { id: ids[10], reason: secret })
  await act('discardJob', { id: ids[11], reason: secret })
  await act('pauseQueue', { queue: { tenantId: key, kind: 'echo' }, reason: secret })
  await act('setConcurrencyLimit', { queue: { tenantId: key }, max: 900 })
  await act('setRateLimit', { tenantId: key, kind: 'echo', limit: { rps: 900, burst: 901 } })
  await act('createApiKey', { name: secret, scopes: ['READ_JOBS'], tenantIds: [key] })
  await act('addSuppression', { address: `${key}@suppressed.example`, tenantId: key, note: secret })
  await act('createWebhookEndpoint', {
    url: `https://example.org/${secret}`,
    eventTypes: [`type.${secret}`],
    tenantId: key,
  })
  await api.sql(
    `insert into mdm.aa_webhook_delivery (tenant_id, subscription_id, event_pk, event_id, event_type, status, last_error)
     select tenant_id, id, 1, gen_random_uuid(), $2, 'held', $2 from mdm.aa_webhook_subscription where tenant_id = $1`,
    [id, secret],
  )
  await act('stopJobs', {
    select: { filter: { idempotencyKey: `${idempotencyKey}-9` } },
    dryRun: false,
    reason: secret,
  })
  await createBulkRunner({
    pool: api.deps.pools.commit,
    events: api.deps.events,
    wakeup: api.deps.wakeup,
    pollMs: 20,
    followUps: new Map(),
  }).runOnce()
  await api.sql(
    `insert into mdm.aa_email_log (tenant_id, job_id, status, message_id, provider, provider_message_id, to_address, template_key, last_error)
     select $1, $2::uuid, 'bounced', $3, 'smtp', $3, $4, 'welcome', $3`,
    [id, ids[0]!.slice(4), secret, `${key}@suppressed.example`],
  )
  await api.sql(
    `insert into mdm.aa_email_template (tenant_id, template_key, locale, version, subject, text_body, html_body, required_vars) values ($1, 'welcome', 'en', 1, $2, $2, $2, '{}')`,
    [id, secret],
  )
  await thingsOfKinds(api, id, secret)
  const hidden = await api.sql<{ id: string }>(
    `select 'entity_' || id as id from mdm.ddm_entity where tenant_id = $1
     union all select 'event_' || id || '_1' from mdm.aa_job where tenant_id = $1 and idempotency_key is not null
     union all select 'attachment_' || id from mdm.ddm_attachment where tenant_id = $1`,
    [id],
  )
  return {
    id,
    key,
    secret,
    ids: [...ids.slice(0, 11), ...hidden.map((row) => row.id)],
    texts: [tag, correlationId, `${idempotencyKey}-0`, `${key}@suppressed.example`, `${key}-fingerprint`, 'broke', key],
  }
}

export const manyJobs = 5_000

/** What the kinds keep beside their jobs: rows as their handlers and mutations leave them. */
async function thingsOfKinds(api: TestApi, id: string, secret: string): Promise<void> {
  await api.sql(
    `with type as (
       insert into mdm.ddm_entity_type (tenant_id, type_key, name) values ($1, left($2, 200), $2) returning id),
     attribute as (
       insert into mdm.ddm_entity_type_attribute (entity_type_id, attr_key, data_type) select id, 'name', 'text' from type),
     entity as (
       insert into mdm.ddm_entity (tenant_id, entity_type_id, external_key, attributes)
       select $1, id, $2, jsonb_build_object('name', $2::text) from type returning id),
     attachment as (
       insert into mdm.ddm_attachment (tenant_id, entity_id, filename, declared_type, announced_bytes, upload_expires_at, store, incoming_key)
       select $1, id, $2, 'text/plain', 1, now() + interval '1 hour', 'local', $2 from entity),
     import as (
       insert into mdm.aa_import_job (tenant_id, entity_type_id, size_bytes, created_by, object_store, object_key, content_sha256, filename, invalid_rows)
       select $1, id, 1, 'user:' || $2, 'local', $2, $2, $2, 1 from type returning id)
     insert into mdm.aa_import_row (import_job_id, row_no, status, raw, errors)
     select id, 1, 'invalid', jsonb_build_object('name', $2::text), jsonb_build_array(jsonb_build_object('message', $2::text)) from import`,
    [id, secret],
  )
  await api.sql(
    `with endpoint as (
       insert into mdm.aa_webhook_subscription (tenant_id, created_by, url, event_types, secrets_enc, secrets_until)
       values ($1, 'user:' || $2, 'https://example.org/' || $2, '{thing.made}', array['x'::bytea], array[null::timestamptz]) returning id),
     event as (
       insert into mdm.aa_outbox_event (tenant_id, event_type, aggregate_id, payload)
       values ($1, 'thing.made', $2, jsonb_build_object('name', $2::text)) returning id, event_id)
     insert into mdm.aa_webhook_delivery (tenant_id, subscription_id, event_pk, event_id, event_type, last_error)
     select $1, endpoint.id, event.id, event.event_id, 'thing.made', $2 from endpoint, event`,
    [id, secret],
  )
  await api.sql(
    `with document as (
       insert into mdm.documents (tenant_id, size_bytes, archive_key, content_sha256, mime_type, filename, title, title_source, uploaded_by, processing_status)
       values ($1, 1, $2, repeat('a', 64), 'text/plain', $2, $2, 'user', 'user:' || $2, 'done') returning id),
     content as (
       insert into mdm.document_text (document_id, engine, content) select id, 'text', $2 from document),
     term as (
       insert into mdm.taxonomy_term (tenant_id, path, name) values ($1, $2, $2) returning id),
     rule as (
       insert into mdm.taxonomy_rule (tenant_id, term_id, match_type, pattern) select $1, id, 'any', $2 from term returning id, term_id),
     filed as (
       insert into mdm.document_term (document_id, term_id, rule_id, source) select document.id, rule.term_id, rule.id, 'auto' from document, rule)
     insert into mdm.document_workflow (tenant_id, name, conditions, actions) values ($1, $2, '{}', jsonb_build_array(jsonb_build_object('note', $2::text)))`,
    [id, secret],
  )
}

const leaseNumber = (): string => (randomBytes(8).readBigUInt64BE() >> 1n).toString()
