import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { noKey, type ClaimParams } from '../../src/sql/claim-parts.ts'
import { heldUpBy, type ClaimedRow } from '../../src/sql/claimed-row.ts'
import type { PastKeys } from '../../src/sql/claim-fair.ts'
import { claimPriority } from '../../src/sql/claim-priority.ts'
import { registerInstance } from '../../src/sql/register-instance.ts'
import { registerKinds, type KindRow } from '../../src/sql/register-kinds.ts'
import { registerWorker } from '../../src/sql/register-worker.ts'
import type { Queryable } from '../../src/sql/statement.ts'
import type { ClaimRules } from '../../src/workers/claim-rules.ts'
import { createDispatcher, type Dispatcher, type PoolSpec } from '../../src/workers/dispatcher.ts'
import type { Receive } from '../../src/workers/run.ts'
import { createUnheardClaims } from '../../src/workers/unheard-claims.ts'
import type { TestDatabase } from '../support/database.ts'

export const noTenant = '00000000-0000-0000-0000-000000000000'
/** Fair claims that begin at the front. */
export const noPast: PastKeys = ['{}', '{}', '{}', '{}']

/** Registers kinds with the seed's defaults, except for what is given. */
export async function registerTestKinds(
  db: Queryable,
  names: readonly string[],
  given: Partial<KindRow> = {},
): Promise<void> {
  const kind = (name: string): KindRow => ({
    name,
    description: name,
    priority: 100,
    max_attempts: 8,
    backoff_base_ms: 30_000,
    backoff_max_ms: 86_400_000,
    backoff_jitter: 0.1,
    timeout_ms: 300_000,
    stale_after_ms: 900_000,
    max_concurrency: null,
    retention_ms: null,
    rate_limit: null,
    provider: null,
    input_field: null,
    payload_schema: { type: 'object' },
    payload_example: {},
    redacted_paths: [],
    ...given,
  })
  await registerKinds(db, JSON.stringify(names.map(kind)))
}

/** An instance that lives and its worker. */
export interface TestWorker {
  readonly instanceId: string
  readonly name: string
  readonly id: number
}

export async function testWorker(db: Queryable, host = 'host'): Promise<TestWorker> {
  const instanceId = crypto.randomUUID()
  await registerInstance(db, instanceId, host, 1, 'test', null)
  const name = `${host}/1/${instanceId}`
  const [row] = await registerWorker(db, instanceId, name, 'default', 4, null, null, 'fair')
  return { instanceId, name, id: row!.id }
}

let tenants = 0

/** A new tenant's id. */
export async function testTenant(database: TestDatabase, metadata: object = {}): Promise<string> {
  const [row] = await database.sql<{ id: string }>(
    'insert into mdm.aa_tenant (tenant_key, name, metadata) values ($1, $1, $2) returning id',
    [`t${(tenants += 1)}`, metadata],
  )
  return row!.id
}

export function drawLease(): string {
  return (randomBytes(8).readBigUInt64BE() >> 1n).toString()
}

/** What every claim begins with. */
export function claimParams(
  worker: TestWorker,
  kinds: readonly string[],
  limit: number,
  given: { lease?: string; excludedPairs?: object; excludedTenants?: object } = {},
): ClaimParams {
  const { lease = drawLease(), excludedPairs = {}, excludedTenants = {} } = given
  return [
    worker.name,
    worker.instanceId,
    lease,
    kinds,
    limit,
    JSON.stringify(excludedPairs),
    JSON.stringify(excludedTenants),
  ]
}

/** The dispatcher of a pool of four slots that serves everything, fairly, unless said otherwise. */
export function testDispatcher(
  pool: Pool,
  worker: TestWorker,
  rules: ClaimRules,
  { receive = () => {}, ...spec }: Partial<PoolSpec> & { receive?: Receive } = {},
): Dispatcher {
  return createDispatcher({
    spec: { name: 'default', slots: 4, kinds: null, tenantIds: null, dispatch: 'fair', ...spec },
    pool,
    worker: worker.name,
    instanceId: worker.instanceId,
    rules,
    unheard: createUnheardClaims(pool),
    receive,
  })
}

/** A claim of a tenant's due jobs, with its lease; made again where somebody else has the turn. */
export async function claimOf(
  db: Queryable,
  worker: TestWorker,
  tenantId: string,
  kinds: readonly string[],
  limit = 1,
): Promise<{ rows: ClaimedRow[]; lease: string; claimId: string }> {
  const lease = drawLease()
  const params = claimParams(worker, kinds, limit, { lease })
  const rows = await claimPriority(db, ...params, [tenantId], ...noKey)
  if (heldUpBy(rows) !== null) return claimOf(db, worker, tenantId, kinds, limit)
  return { rows, lease, claimId: rows[0]?.[12] ?? '' }
}

/** A job's row as it is stored. */
export interface StoredJob {
  readonly [column: string]: unknown
  readonly id: string
  readonly status: string
  readonly revision: number
  readonly claim_revision: number | null
  readonly lease: string | null
  readonly attempts: number
  readonly runs: number
  readonly last_error: string | null
}

/** The row of a job as text, so that nothing of it goes through JavaScript; undefined: there is none. */
export async function storedJob(database: TestDatabase, id: string): Promise<StoredJob | undefined> {
  const [row] = await database.sql<{ job: StoredJob }>(
    `select to_jsonb(j) || jsonb_build_object('lease', j.lease::text) as job from mdm.aa_job j where id = $1`,
    [id],
  )
  return row?.job
}

export interface StoredJournalRow {
  readonly [column: string]: unknown
  readonly action: string
  readonly revision: number
  readonly actor_principal_id: string | null
  readonly payload: Record<string, unknown> | null
}

/** What was journaled of a job, in order. */
export async function journalOf(database: TestDatabase, id: string): Promise<StoredJournalRow[]> {
  const rows = await database.sql<{ entry: StoredJournalRow }>(
    'select to_jsonb(a) as entry from mdm.aa_audit_log a where job_id = $1 order by revision, id',
    [id],
  )
  return rows.map((row) => row.entry)
}
