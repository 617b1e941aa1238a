/** A line of the audit log. */
export interface AuditRow {
  /** Position in the journal, as text: an identity, not a number to reckon with. */
  readonly id: string
  readonly at: Date
  readonly action: string
  /** Null: the worker. */
  readonly actor: string | null
  /** Number of the row in aa_worker. */
  readonly worker: number | null
  readonly tenantId: string
  readonly jobId: string | null
  readonly reason: string | null
  readonly requestId: string | null
  /** What the entry needs to be understood later, as JSON text so that numbers stay exact; null: nothing. */
  readonly payloadText: string | null
}

/** The select list that makes an AuditRow of the alias `a`; the log lines of a run belong to its attempt. */
export const auditRowColumns = `a.id::text as id, a.at, a.action::text as action, a.actor_principal_id as actor, a.worker, a.tenant_id as "tenantId", a.job_id as "jobId",
       a.reason, a.request_id as "requestId", (case when jsonb_typeof(a.payload) = 'object' then a.payload - 'log' end)::text as "payloadText"`
