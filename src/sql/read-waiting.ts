import { capsInForce, runningByPair, runningUnderCap } from './cap-parts.ts'
import { pauseRowColumns, type PauseRow } from './pause-row.ts'
import { statement } from './statement.ts'

/** What keeps a pending job waiting: the predicates of the claim, one by one. */
export interface WaitingRow {
  readonly jobId: string
  readonly due: boolean
  /** Its last run was turned away for want of a token, and waits for one. */
  readonly rateLimited: boolean
  readonly tenantActive: boolean
  /** Whether a living worker serves its kind and tenant. */
  readonly served: boolean
  /** Pauses in force that cover it, as JSON: times are texts. */
  readonly pauses: readonly (Omit<PauseRow, 'since' | 'until'> & {
    readonly since: string
    readonly until: string | null
  })[]
  /** Caps that are full. */
  readonly fullCaps: readonly { readonly kind: string | null; readonly tenantId: string | null; readonly max: number }[]
  /** How many due jobs come first, counted up to 1,000: before it in its tenant, and those that other tenants have in the rounds until then. */
  readonly position: number
}

export const readWaiting = statement<
  [ids: readonly string[], tenantIds: readonly string[] | null, deadAfterMs: number],
  WaitingRow
>(
  'read_waiting',
  `-- reads why pending jobs wait; places in line on aa_job_by_tenant, at most 1,000 entries a job
with recursive ${capsInForce},
${runningByPair('exists (select from cap)')},
job as materialized (
  select j.id, j.tenant_id, j.job_kind, j.priority, j.available_at, j.lane, j.attempts
    from mdm.aa_job j
   where j.id = any ($1::uuid[]) and j.status = 'pending' and ($2::uuid[] is null or j.tenant_id = any ($2))),
-- Jobs of its own tenant that are claimed before it.
own as materialized (
  select job.id, job.tenant_id, least(a.jobs, 1000) as ahead
    from job
   cross join lateral (
     select count(*)::int as jobs
       from (select from mdm.aa_job q
              where q.lane = 0 and q.tenant_id = job.tenant_id and (q.priority, q.available_at, q.id) < (job.priority, job.available_at, job.id)
              limit 1001) x) a
   where job.lane = 0),
-- In each round every tenant gets one job: before its own turn comes, the others had as many turns as it, as far as they have jobs.
line as (
  select own.id, '00000000-0000-0000-0000-000000000000'::uuid as tenant_id, own.ahead as jobs from own
  union all
  select l.id, n.tenant_id, l.jobs + case when n.tenant_id = o.tenant_id then 0 else c.jobs end
    from line l
    join own o on o.id = l.id
   cross join lateral (select q.tenant_id from mdm.aa_job q where q.lane = 0 and q.tenant_id > l.tenant_id order by q.tenant_id limit 1) n
   cross join lateral (
     select count(*)::int as jobs
       from (select from mdm.aa_job q where q.lane = 0 and q.tenant_id = n.tenant_id and q.available_at <= now() limit o.ahead + 1) x) c
   where l.jobs < 1000),
place as (select l.id, least(max(l.jobs), 1000) as position from line l group by l.id)
select job.id as "jobId", job.available_at <= now() as due,
       job.available_at > now() and coalesce(last.action = 'job_released' and last.payload ->> 'cause' = 'rate_limited', false) as "rateLimited",
       t.status = 'active' as "tenantActive",
       exists (select from mdm.aa_worker w join mdm.aa_instance i on i.id = w.instance_id
                where i.heartbeat_at > clock_timestamp() - $3::float8 * interval '1 millisecond' and not i.draining
                  and (w.kinds is null or job.job_kind = any (w.kinds))
                  and (w.tenants is null or t.id::text = any (w.tenants) or t.tenant_key = any (w.tenants))) as served,
       (select coalesce(jsonb_agg(to_jsonb(p) order by p.since), '[]')
          from (select ${pauseRowColumns} from mdm.aa_queue_pause p
                 where (p.until is null or p.until > clock_timestamp())
                   and (p.job_kind is null or p.job_kind = job.job_kind) and (p.tenant_id is null or p.tenant_id = job.tenant_id)) p) as pauses,
       (select coalesce(jsonb_agg(jsonb_build_object('kind', c.job_kind, 'tenantId', c.tenant_id, 'max', c.max)), '[]')
          from cap c
         where (c.job_kind is null or c.job_kind = job.job_kind) and (c.tenant_id is null or c.tenant_id = job.tenant_id)
           and ${runningUnderCap} >= c.max) as "fullCaps",
       coalesce(place.position, 0) as position
  from job
  join mdm.aa_tenant t on t.id = job.tenant_id
  left join place on place.id = job.id
  left join lateral (
    select a.action, a.payload from mdm.aa_audit_log a where a.job_id = job.id and job.available_at > now() order by a.revision desc limit 1) last on true`,
)
