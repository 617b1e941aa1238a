/** What lines of the audit log have to be like, in the order of the parameters that `auditMatches` names. Null: no restriction. */
export type AuditMatchParams = [
  tenantIds: readonly string[] | null,
  /** Journal actions; never null: not every row of the journal is a line of the audit log. */
  actions: readonly string[],
  /** Forms in which the journal may name the actor. */
  actors: readonly string[] | null,
  jobId: string | null,
  from: Date | null,
  to: Date | null,
  /** The page goes on below this id. */
  beforeId: string,
  limit: number,
]

/** The condition on the alias `a`, parameters 1 to 7. Where no actor stands in the row, it is its worker. */
export const auditMatches = `a.id < $7::bigint and a.action = any ($2::mdm.audit_action[])
     and ($1::uuid[] is null or a.tenant_id = any ($1))
     and ($3::text[] is null or a.actor_principal_id = any ($3)
          or (a.actor_principal_id is null and a.worker in (select w.id from mdm.aa_worker w where w.name = any ($3))))
     and ($4::uuid is null or a.job_id = $4)
     and ($5::timestamptz is null or a.at >= $5)
     and ($6::timestamptz is null or a.at < $6)`
