import { randomBytes } from 'node:crypto'
import { enqueueOne } from '../../src/sql/enqueue-job.ts'
import { failJobs } from '../../src/sql/fail-jobs.ts'
import { finishJobs } from '../../src/sql/finish-jobs.ts'
import type { Queryable } from '../../src/sql/statement.ts'

/** A claim made for a test. */
export interface TestClaim {
  readonly jobId: string
  readonly lease: string
  readonly claimId: string
}

/** Makes the kind `chore` known, so that jobs of it can be enqueued. */
export async function registerChore(db: Queryable): Promise<void> {
  await db.query({
    text: `insert into mdm.aa_job_kind (name, description, priority, max_attempts, backoff_base_ms, backoff_max_ms, backoff_jitter, timeout_ms,
                                        stale_after_ms, payload_schema, payload_example)
           values ('chore', 'For tests.', 100, 50, 0, 0, 0, 60000, 60000, '{}', '{}')`,
  })
}

export async function enqueueChore(db: Queryable, options: { tenant?: string; tags?: string[] } = {}): Promise<string> {
  const { jobId } = await enqueueOne(db, { kind: 'chore', payload: {}, ...options })
  return jobId
}

/** pending -> running for one job, as the claim statements do it. */
export async function claimJob(db: Queryable, jobId: string): Promise<TestClaim> {
  const lease = (randomBytes(8).readBigUInt64BE() >> 1n).toString()
  const { rows } = await db.query({
    text: `with moved as (
             update mdm.aa_job j
                set status = 'running', claimed_by = 'host/1/test', claimed_at = now(), attempts = j.attempts + 1, runs = j.runs + 1,
                    revision = j.revision + 1, claim_revision = j.revision + 1, lease = $2::bigint
              where j.id = $1 and j.status = 'pending'
             returning j.id)
           insert into mdm.aa_claim (lease, job_ids) select $2::bigint, array_agg(id) from moved having count(*) > 0 returning id`,
    values: [jobId, lease],
  })
  return { jobId, lease, claimId: (rows[0] as { id: string }).id }
}

/** running -> done. */
export async function finishJob(db: Queryable, { jobId, lease, claimId }: TestClaim): Promise<void> {
  await finishJobs(db, [jobId], [lease], 1, [claimId])
}

/** running -> pending, at once due again. */
export async function failJob(db: Queryable, { jobId, lease, claimId }: TestClaim): Promise<void> {
  await failJobs(db, [jobId], [lease], 1, [claimId], [0], [false], ['Error: boom'], ['Error'], [null], ['f'], [null])
}

/** pending, dlq or failed -> gone. */
export async function discardJob(db: Queryable, jobId: string): Promise<void> {
  await db.query({
    text: `with gone as (delete from mdm.aa_job j where j.id = $1 and j.status in ('pending', 'dlq', 'failed') returning j.*)
           insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind, actor_principal_id, payload)
           select g.id, g.tenant_id, 'job_discard', g.revision + 1, g.job_kind, 'user:test', jsonb_build_object('snapshot', to_jsonb(g)) from gone g`,
    values: [jobId],
  })
}
