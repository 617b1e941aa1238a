/** What was done, as the audit log names it. */
export type AuditAction = keyof typeof journalActions

/** The journal actions behind each. What is not here (retry, release, recovery) stands in a job's events, not in the audit log. */
const journalActions = {
  JOB_ENQUEUED: ['job_enqueued'],
  JOB_DONE: ['job_done'],
  JOB_DLQ: ['job_dlq'],
  JOB_REPLAY: ['job_replay'],
  JOB_DISCARD: ['job_discard'],
  JOB_CANCEL: ['job_cancel', 'job_cancel_requested'],
  JOB_STOP: ['job_stop', 'job_stop_requested'],
  JOB_UPDATE: ['job_updated', 'job_rescheduled', 'job_reprioritized'],
  QUEUE_PAUSE: ['queue_pause'],
  QUEUE_RESUME: ['queue_resume'],
  RATE_LIMIT_SET: ['rate_limit_set'],
  CONCURRENCY_LIMIT_SET: ['concurrency_limit_set'],
  TENANT_CHANGE: ['tenant_change'],
  API_KEY_CHANGE: ['api_key_change'],
  SUPPRESSION_ADD: ['suppression_add'],
  SUPPRESSION_REMOVE: ['suppression_remove'],
  EMAIL_SENT: ['email_sent'],
  BULK_END: ['bulk_end'],
  BULK_START: ['bulk_start'],
  WEBHOOK_CHANGE: ['webhook_change'],
  METADATA_CHANGE: ['metadata_change'],
  DOCUMENT_PROCESSED: ['document_processed'],
  INDEX_CHANGE: ['index_change'],
  REINDEX_DONE: ['reindex_done'],
  IMPORT_DONE: ['import_done'],
  ATTACHMENT_SCANNED: ['attachment_scanned'],
} as const satisfies Record<string, readonly string[]>

const everyday: ReadonlySet<string> = new Set(['job_enqueued', 'job_done'])
const meanings = new Map<string, AuditAction>(
  Object.entries(journalActions).flatMap(([action, names]) =>
    names.map((name) => [name, action as AuditAction] as const),
  ),
)

/** Those that an index finds without a walk past all that goes well. */
export const notableActions: ReadonlySet<string> = new Set([...meanings.keys()].filter((name) => !everyday.has(name)))

/** Null: every one of the audit log. */
export function journalActionsOf(actions: readonly AuditAction[] | null): string[] {
  return actions === null ? [...meanings.keys()] : actions.flatMap((action) => [...journalActions[action]])
}

/** Null: no line of the audit log. */
export function auditActionOf(journalAction: string): AuditAction | null {
  return meanings.get(journalAction) ?? null
}
