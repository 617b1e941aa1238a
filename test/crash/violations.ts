/** Runs a statement and answers its rows. */
export type Sql = (text: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>

/** Endings of a claim that count its attempt. */
const counted = `('job_done', 'job_dlq', 'job_retry', 'job_recovered')`

/**
 * What must hold once nothing is pending or running, whatever happened before; each answers the rows that break it.
 * Read from the tables alone, and only right for jobs that nobody replayed, stopped or discarded.
 */
const laws: Readonly<Record<string, string>> = {
  'every job is in a terminal state': `
    select id, job_kind, status, attempts from mdm.aa_job where status not in ('done', 'dlq')`,
  'every job has exactly one journal row for its birth and one for its end': `
    select j.id, j.job_kind, j.status, count(*) filter (where a.action = 'job_enqueued') as births, count(*) filter (where a.action::text = 'job_' || j.status) as ends
      from mdm.aa_job j left join mdm.aa_audit_log a on a.job_id = j.id group by j.id
    having count(*) filter (where a.action = 'job_enqueued') <> 1 or count(*) filter (where a.action in ('job_done', 'job_dlq')) <> 1
        or count(*) filter (where a.action::text = 'job_' || j.status) <> 1`,
  'the revisions of a job, its claims counted, have no gap and no double': `
    select j.id, j.job_kind, j.revision, array_agg(told.revision order by told.revision) as told
      from mdm.aa_job j
      left join (select job_id, revision from mdm.aa_audit_log
                 union all
                 select job_id, coalesce(claim_revision, revision - 1) from mdm.aa_audit_log where action in ${counted} or action = 'job_released') told on told.job_id = j.id
     group by j.id
    having array_agg(told.revision order by told.revision) is distinct from array(select generate_series(1, j.revision))`,
  'attempts are the claims that were not given back, never above the limit': `
    select j.id, j.job_kind, j.attempts, j.max_attempts, count(a.*) as endings
      from mdm.aa_job j left join mdm.aa_audit_log a on a.job_id = j.id and a.action in ${counted}
     group by j.id having j.attempts <> count(a.*) or j.attempts > j.max_attempts`,
  'runs are the claims whose handler started': `
    select j.id, j.job_kind, j.runs, count(a.*) as started
      from mdm.aa_job j
      left join mdm.aa_audit_log a on a.job_id = j.id and (a.action in ${counted} or a.action = 'job_released' and a.payload ->> 'unstarted' is null)
     group by j.id having j.runs <> count(a.*)`,
  'a job that has ended holds no claim': `
    select id, job_kind, status from mdm.aa_job where lease is not null or deferred or completed_at is null`,
  'no claim row is left': `select id, instance_id, claimed_at, cardinality(job_ids) as jobs from mdm.aa_claim`,
  'what is written in the transaction of the end is written exactly once': `
    select j.id, count(w.*) as rows from mdm.aa_job j left join written w on w.job_id = j.id where j.job_kind = 'writes'
     group by j.id having count(w.*) <> 1`,
  'only kinds that fail have failures in the journal': `
    select a.job_id, a.job_kind, a.payload ->> 'last_error' as error from mdm.aa_audit_log a
     where a.action = 'job_retry' and a.job_kind not in ('fails_once', 'fails_always', 'retries_later')`,
  'only jobs that cannot succeed are in the dead-letter queue, with a reason': `
    select id, job_kind, attempts, last_error from mdm.aa_job
     where (status = 'dlq') <> (job_kind in ('fails_always', 'deadly')) or status = 'dlq' and (attempts < max_attempts or last_error is null)`,
}

/** One text for each law that is broken, with some of the rows that break it; empty: all is well. */
export async function violations(sql: Sql): Promise<string[]> {
  const broken: string[] = []
  for (const [law, query] of Object.entries(laws)) {
    const rows = await sql(query)
    if (rows.length > 0)
      broken.push(
        `${law}: broken by ${rows.length}, e.g. ${rows
          .slice(0, 3)
          .map((row) => JSON.stringify(row))
          .join(' ')}`,
      )
  }
  return broken
}
