import { bulkCandidates, type BulkMatchParams } from './bulk-candidates.ts'
import { bulkJournaled, bulkOperationColumns, type BulkAction, type BulkOperationRow } from './bulk-operation-row.ts'
import { statement } from './statement.ts'

type Params = [
  ...BulkMatchParams,
  action: BulkAction,
  /** Of more only the oldest are taken. */
  limit: number,
  /** Null: however many they are. */
  expected: number | null,
  ratePerSecond: number | null,
  followsClaims: boolean,
  actor: string,
  createdFor: string,
  idempotencyKey: string | null,
  requestText: string,
  reason: string | null,
  requestId: string,
]

/** How many match; and the operation, all null where their number is not the one expected or the key is taken. */
export const startBulkOperation = statement<Params, { matching: number } & (BulkOperationRow | { id: null })>(
  'start_bulk_operation',
  `-- (none) -> queued, with the jobs that match in this instant: on the queue's indexes, aa_claim and aa_job_dead. No row is taken where the key is
with found as materialized (
  ${bulkCandidates}),
taken as materialized (
  select f.id, f.revision, f.tenant_id, (row_number() over (order by f.id))::int - 1 as place
    from found f
   order by f.id
   limit $24::int),
created as (
  insert into mdm.aa_bulk_operation as o (action, rate_per_second, follows_claims, created_by, created_for, idempotency_key, request, reason, request_id, matched, tenant_ids)
  select $23::text, $26::float8, $27::boolean, $28::text, $29::text, $30::text, $31::jsonb, $32::text, $33::text,
         (select count(*)::int from taken), array(select distinct t.tenant_id from taken t)
   where $25::int is null or $25 = (select count(*) from found)
  on conflict (created_by, created_for, idempotency_key) where idempotency_key is not null do nothing
  returning o.*),
targeted as (
  insert into mdm.aa_bulk_target (operation_id, place, job_ids, revisions)
  select c.id, min(t.place), array_agg(t.id order by t.place), array_agg(t.revision order by t.place)
    from created c, taken t
   group by c.id, t.place / 100),
${bulkJournaled('created', 'bulk_start', '$28::text', '$33::text')}
select (select count(*)::int from found) as matching, ${bulkOperationColumns}
  from (values (1)) always left join created o on true`,
)
