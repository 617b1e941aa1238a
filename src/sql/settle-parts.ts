/** How long a run waited and ran, in whole milliseconds, for the journal row of the move that ends it. */
export const runTimes = `least(greatest(date_part('epoch', claimed_at - available_at) * 1000, 0), 2147483647)::int,
         least(greatest(date_part('epoch', now() - claimed_at) * 1000, 0), 2147483647)::int`

/** The claim's revision stands in the journal only where a stop request came between. */
export const claimRevisionIfApart = `case when claim_revision <> revision - 1 then claim_revision end`

/** SQL for the journal's rows of runs that succeeded; $3 is the worker. */
export const journalDone = `journaled as (
  insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, claim_revision, wait_ms, run_ms, attempt, worker, job_kind)
  select id, tenant_id, 'job_done', revision, ${claimRevisionIfApart}, ${runTimes}, runs, $3::int, job_kind
    from moved)`

/**
 * Drops the claim rows whose last job this statement ends: $claims. Never by a group out of which a row fell, and never in a statement that
 * moved fewer than were given.
 */
export const dropEndedClaims = (ids: string, claims: string): string =>
  `ended as (
  delete from mdm.aa_claim where id = any (${claims}::bigint[]) and (select count(*) from moved) = cardinality(${ids}::uuid[]))`

/** A job that was still held, after its end. */
export interface SettledRow {
  readonly id: string
  readonly status: 'pending' | 'dlq' | 'failed'
  readonly availableAt: Date
  /** Who asked for the end, and why, where that is what ended it. */
  readonly stopCause: 'stopped' | 'cancelled' | null
  readonly stopReason: string | null
}

/** SQL that answers a `SettledRow` for each row of `moved`. */
export const settledColumns = `select id, status, next_at as "availableAt", case when status = 'failed' then stop_cause end as "stopCause",
       case when status = 'failed' then stop_reason end as "stopReason" from moved`

/** Uuids or numbers: a list, or the text that `plainList` makes of it. */
export type PlainList = readonly string[] | string

/** The list as PostgreSQL writes an array. No element needs quotes: pg looks for them in each character, half a microsecond an element. */
export const plainList = (elements: readonly (string | number)[]): string => `{${elements.join(',')}}`
