/** What jobs have to be like, in the order of the parameters that `jobMatches` names. Null: no restriction. */
export type JobMatchParams = [
  tenantIds: readonly string[] | null,
  statuses: readonly string[] | null,
  kinds: readonly string[] | null,
  ids: readonly string[] | null,
  tags: readonly string[] | null,
  payload: string | null,
  /** The empty one: of failures that left none. */
  errorFingerprint: string | null,
  errorText: string | null,
  idempotencyKey: string | null,
  correlationId: string | null,
  claimedBy: string | null,
  priorityMin: number | null,
  priorityMax: number | null,
  attemptsMin: number | null,
  attemptsMax: number | null,
  createdFrom: Date | null,
  createdTo: Date | null,
  availableFrom: Date | null,
  availableTo: Date | null,
  completedFrom: Date | null,
  completedTo: Date | null,
]

/** The condition on the alias `j`, parameters 1 to 21. Planned for the values given: what is null then costs nothing. */
export const jobMatches = `($1::uuid[] is null or j.tenant_id = any ($1))
     and ($2::mdm.job_status[] is null or j.status = any ($2))
     and ($3::text[] is null or j.job_kind = any ($3))
     and ($4::uuid[] is null or j.id = any ($4))
     and ($5::text[] is null or j.tags @> $5)
     and ($6::jsonb is null or j.payload @> $6)
     and ($7::text is null or coalesce(j.error_fingerprint, '') = $7)
     and ($8::text is null or strpos(lower(j.last_error), lower($8)) > 0)
     and ($9::text is null or j.idempotency_key = $9)
     and ($10::text is null or j.correlation_id = $10)
     and ($11::text is null or j.claimed_by = $11)
     and ($12::int is null or j.priority >= $12)
     and ($13::int is null or j.priority <= $13)
     and ($14::int is null or j.attempts >= $14)
     and ($15::int is null or j.attempts <= $15)
     and ($16::timestamptz is null or j.created_at >= $16)
     and ($17::timestamptz is null or j.created_at < $17)
     and ($18::timestamptz is null or j.available_at >= $18)
     and ($19::timestamptz is null or j.available_at < $19)
     and ($20::timestamptz is null or j.completed_at >= $20)
     and ($21::timestamptz is null or j.completed_at < $21)`
