/** What a claim brings: only what the worker needs, as a tuple. */
export type ClaimedRow = [
  id: string,
  tenantId: string,
  kind: string,
  payloadText: string,
  attempts: number,
  maxAttempts: number,
  priority: number,
  /** Milliseconds since 1970 by the database's clock. */
  createdMs: number,
  availableMs: number,
  claimedMs: number,
  idempotencyKey: string | null,
  correlationId: string | null,
  claimId: string,
]

/** Parameters that every claim begins with. */
export type ClaimParams = [
  worker: string,
  instanceId: string,
  /** 63 random bits, as text: the fence of this claim statement (DESIGN law 6). */
  lease: string,
  kinds: readonly string[],
  limit: number,
  /** Excluded "kind tenant" pairs, as keys of a JSON object. */
  excludedPairs: string,
  /** Excluded tenants, as keys of a JSON object. */
  excludedTenants: string,
]

/**
 * pending -> running for the rows of `picked` (columns id, tid). The update goes by ctid: joined on id with a limit above one it became
 * a scan of the whole table. The claim row is written with it; no journal row is (+10 us a job): the facts stand on the job.
 */
export const moveToRunning = `moved as (
  update mdm.aa_job j
     set status = 'running', claimed_by = $1, claimed_at = now(), heartbeat_at = null, attempts = j.attempts + 1, runs = j.runs + 1,
         revision = j.revision + 1, claim_revision = j.revision + 1, lease = $3::bigint
   where j.ctid = any (array(select tid from picked))
  returning j.id, j.tenant_id, j.job_kind, j.payload::text as payload, j.attempts, j.max_attempts, j.priority, j.created_at, j.available_at,
            j.idempotency_key, j.correlation_id),
noted as (
  insert into mdm.aa_claim (instance_id, lease, job_ids)
  select $2::uuid, $3::bigint, array_agg(id) from moved having count(*) > 0
  returning id)
select m.id, m.tenant_id, m.job_kind, m.payload, m.attempts, m.max_attempts, m.priority,
       date_part('epoch', m.created_at) * 1000, date_part('epoch', m.available_at) * 1000, date_part('epoch', now()) * 1000,
       m.idempotency_key, m.correlation_id, (select id from noted)
  from moved m join picked p on p.id = m.id`
