/** A stop sign for claiming. */
export interface PauseRow {
  readonly id: string
  /** Null: every kind. */
  readonly kind: string | null
  /** Null: every tenant. */
  readonly tenantId: string | null
  readonly since: Date
  readonly until: Date | null
  readonly reason: string | null
  readonly pausedBy: string
}

/** The select list that makes a PauseRow of the alias `p`. */
export const pauseRowColumns = `p.id, p.job_kind as kind, p.tenant_id as "tenantId", p.since, p.until, p.reason, p.paused_by as "pausedBy"`
