/** An address that gets no email, as it is read. */
export interface SuppressionRow {
  readonly id: string
  readonly address: string
  /** Null: for every tenant. */
  readonly tenantId: string | null
  readonly reason: 'bounce' | 'complaint' | 'unsubscribe' | 'manual'
  /** Null: every sort of email. */
  readonly category: 'transactional' | 'notification' | 'bulk' | null
  readonly note: string | null
  readonly createdAt: Date
  readonly createdBy: string
}

/** The select list that makes a SuppressionRow of the alias `s`. What was written by hand names nobody. */
export const suppressionRowColumns = `s.id, s.address, (select t.id from mdm.aa_tenant t where t.id = s.tenant_id and t.tenant_key <> 'platform') as "tenantId",
       s.reason, nullif(s.category, '*') as category, coalesce(s.note, s.detail) as note, s.created_at as "createdAt", coalesce(s.created_by, 'sql:unknown') as "createdBy"`
