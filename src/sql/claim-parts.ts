import type { ClaimedRow } from './claimed-row.ts'

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

/** Further parameters of the claims by priority. */
export type PriorityParams = [
  /** Null: every tenant. */
  tenantIds: readonly string[] | null,
  /** The scan starts behind this key: what was claimed before is in the index until a vacuum, dead. */
  ...past: PastKey,
]

/** A job's place in the order of the queue. The due time is in microseconds since 1970, as exact as the database's (FAULTS F04); null: before all. */
export type PastKey = readonly [priority: number, availableMicros: number | null, id: string]

/** In front of every job. */
export const noKey: PastKey = [-2_147_483_648, null, '00000000-0000-0000-0000-000000000000']

/** SQL for the time that stands behind so many microseconds since 1970. */
export const microsAsTime = (micros: string): string => `timestamptz 'epoch' + ${micros} * interval '1 microsecond'`

/** SQL for the due time of `PriorityParams`. */
export const pastTime = `coalesce(${microsAsTime('$10::bigint')}, '-infinity')`

/** The place of the job that a row of a claim brought. */
export const keyOf = (row: ClaimedRow): readonly [priority: number, availableMicros: number, id: string] => [
  row[6],
  Math.round(row[8] * 1_000),
  row[0],
]

/**
 * SQL for what a claim hands on of each job; what is the same for all of them stands once, in `told`, and a due time that is the time of creation,
 * as it is as a rule, not at all (2 % of a claim on the server, and a column less for Node to read).
 */
const transferred = `j.id, j.tenant_id, j.job_kind, j.payload::text as payload, j.attempts, j.max_attempts, j.priority,
            date_part('epoch', j.created_at) * 1000 as created,
            case when j.available_at <> j.created_at then date_part('epoch', j.available_at) * 1000 end as available, null as claimed,
            j.idempotency_key, j.correlation_id, null as claim, case when j.id = (select id from picked limit 1) then (select told from told) end as told`

/**
 * pending -> running for the rows of `picked` (columns id, tid, in the order of their turns). The update goes by ctid: joined on id with a limit
 * above one it became a scan of the whole table. The claim row is written with it; no journal row is (+10 us a job): the facts stand on the job.
 * Rows come as the update finds them, and `claimStatement` puts them in order: a join and a sort for that, with all that each row carried through
 * them, were a tenth of a claim.
 */
const moveToRunning = (met: string, noted: string): string => `noted as (
  insert into mdm.aa_claim (instance_id, lease, job_ids)
  select $2::uuid, $3::bigint, array_agg(id) from picked having count(*) > 0${noted}
  returning id, job_ids),
told as (
  select json_build_object('claimId', id::text, 'claimedMs', date_part('epoch', now()) * 1000, 'met', ${met}, 'ids', job_ids)::text as told from noted),
moved as (
  update mdm.aa_job j
     set status = 'running', claimed_by = $1, claimed_at = now(), heartbeat_at = null, attempts = j.attempts + 1, runs = j.runs + 1,
         revision = j.revision + 1, claim_revision = j.revision + 1, lease = $3::bigint
   where j.ctid = any (array(select tid from picked))
  returning ${transferred})
select * from moved`

/** The end of a claim under caps, whose transaction holds a lock of its own. */
export const moveCapped = moveToRunning('null', '')

/**
 * The end of a claim that began with `inTurn`. `found` is SQL for whether due jobs were found: if others had locked them all, or another claim
 * has its turn, one row without a job says so.
 */
export const moveInTurn = (found = 'false'): string => `${moveToRunning(
  '(select met from way)',
  `
     and setval('mdm.aa_claim_last', pg_current_xact_id()::text::bigint) > 0`,
)}
 union all
select ${'null, '.repeat(13)}case when not exists (select from begun) then 'busy' end
 where not exists (select from moved) and (${found} or not exists (select from begun))`

/** An index that every database has is looked up when the statement is planned; one that is made for a pool may be missing, and counts nothing. */
type CountedIndex = 'aa_job_by_tenant' | 'aa_job_by_kind' | 'aa_job_by_priority' | 'aa_job_by_kind_priority'

/** What this session has been given of an index: entries, rows that were found alive behind them, and pages. The server counts it anyway. */
function givenBy(index: CountedIndex): string {
  const name = index.endsWith('priority') ? `to_regclass('mdm.${index}')` : `'mdm.${index}'::regclass`
  return `select pg_stat_get_xact_tuples_returned(${name}) as entries, pg_stat_get_xact_tuples_fetched(${name}) as alive, pg_stat_get_xact_blocks_fetched(${name}) as pages`
}

/** SQL for the key of the lock that a claim has while it has its turn. */
export const turnKey = `hashtextextended('stellwerk claim', 0)`

/**
 * One claim after the other, over all instances: no row where another one has its turn, or ended it after this one's snapshot. For each job that was
 * claimed since its snapshot a claim has to look at its new version, ten times as dear as to claim it: two at once were slower than one, and of four
 * instances one ran after the others for seconds, with locks on all that it had looked at, for which their ends waited. A transaction in the future
 * comes from the dump of another server. Has to be read before the index is.
 */
export const inTurn = (index: CountedIndex): string => `begun as materialized (
  ${givenBy(index)}
   where case when pg_try_advisory_xact_lock(${turnKey})
              then (select pg_visible_in_snapshot(c.last_value::text::xid8, pg_current_snapshot()) or c.last_value::text::xid8 > pg_current_xact_id()
                      from mdm.aa_claim_last c)
              else false end)`

/**
 * What the statement met on its way, if it had to walk far for what it brought: SQL over `needed` (probes, jobs), how often it had to enter the
 * index and how many jobs it had to look at. To be read after all turns are picked, and null as a rule: a value in each row of a claim is a
 * quarter of a microsecond a job. Entries that are known to be dead, and jobs of foreign kinds, are passed over inside the index: of them its pages
 * tell, of which a probe needs five at most.
 */
export const metOnTheWay = (index: CountedIndex, needed: string): string => `way as (
  select case when g.entries - b.entries - g.alive + b.alive - n.probes > 64 + 4 * $5::int then 'dead'
              when g.alive - b.alive - n.probes - n.jobs > 64 + 4 * $5::int then 'foreign'
              when g.pages - b.pages - 5 * n.probes > 16 + $5::int / 4 then 'pages' end as met
    from begun b, (${givenBy(index)}) g, (${needed}) n(probes, jobs))`
