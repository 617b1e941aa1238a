import type { BulkAction } from '../jobs/event.ts'
/** What a bulk operation makes of each job. */
export type { BulkAction } from '../jobs/event.ts'

export type BulkStatus = 'queued' | 'running' | 'completed' | 'cancelled' | 'faulted'

/** An action on many jobs. */
export interface BulkOperationRow {
  readonly id: string
  readonly action: BulkAction
  readonly status: BulkStatus
  readonly createdAt: Date
  readonly finishedAt: Date | null
  /** Null: as fast as leaves room to others. */
  readonly ratePerSecond: number | null
  readonly matched: number
  readonly succeeded: number
  readonly skipped: number
  /** Whether a job that was claimed since, and nothing else, is taken all the same. */
  readonly followsClaims: boolean
  /** Whose jobs it takes. */
  readonly tenantIds: readonly string[]
  readonly createdBy: string
  readonly requestId: string | null
  readonly reason: string | null
  readonly error: string | null
  /** What was asked for, as JSON text. */
  readonly requestText: string
}

/** The select list that makes a BulkOperationRow of the alias `o`. */
export const bulkOperationColumns = `o.id, o.action, o.status, o.created_at as "createdAt", o.finished_at as "finishedAt", o.rate_per_second as "ratePerSecond",
       o.matched, o.succeeded, o.skipped, o.follows_claims as "followsClaims", o.tenant_ids as "tenantIds", o.created_by as "createdBy",
       o.request_id as "requestId", o.reason, o.error, o.request::text as "requestText"`

/** Who may see the alias `o`: parameters $1 the caller's tenants, null for all, and $2 the caller as the journal names them. */
export const bulkOperationIsSeen = `($1::uuid[] is null or (o.tenant_ids <@ $1 and (o.tenant_ids <> '{}' or o.created_by = $2::text)))`

/** The journal row of an operation in the CTE named; $<actor> and payload are SQL. It stands with the one tenant it is about, else with the platform. */
export const bulkJournaled = (
  from: string,
  action: 'bulk_start' | 'bulk_end',
  actor: string,
  requestId: string,
): string => `journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, reason, request_id, payload)
  select case when cardinality(o.tenant_ids) = 1 then o.tenant_ids[1] else (select t.id from mdm.aa_tenant t where t.tenant_key = 'platform') end,
         '${action}', ${actor}, o.reason, ${requestId},
         jsonb_strip_nulls(jsonb_build_object('operation', o.id, 'action', o.action, 'status', o.status, 'matched', o.matched, 'succeeded', o.succeeded,
                                              'skipped', o.skipped, 'error', o.error, 'request', o.request))
    from ${from} o)`
