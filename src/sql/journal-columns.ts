const facts = `a.id::float8 as id, a.at, a.job_id as "jobId", a.tenant_id as "tenantId", a.job_kind as kind, a.action, a.revision,
       a.claim_revision as "claimRevision", a.run_ms as "runMs", a.attempt, a.worker, a.actor_principal_id as actor, a.reason`

/** The select list that makes a JournalRow of the alias `a`. */
export const journalRowColumns = `${facts}, a.payload`

/** The same without the log lines of the run: up to 8 KiB a failure that no stream shows. */
export const streamedRowColumns = `${facts},
       case when jsonb_typeof(a.payload) = 'object' then a.payload - 'log' end as payload`
