import { cleanupJobs } from './built-in/cleanup-jobs.ts'
import { emailSend } from './built-in/email-send.ts'
import type { JobKind } from './kind.ts'

/** Names that belong to the platform, whether this version serves them or not. */
export const reservedKindNames = [
  'email_send',
  'bulk_import',
  'reindex',
  'outbox_dispatch',
  'cleanup_jobs',
  'virus_scan',
  'index_sync',
  'gin_backfill',
  'document_process',
] as const

/** The platform's own kinds. A handler missing for one of them does not compile (workers/handlers). */
export const builtInKinds = {
  email_send: emailSend,
  cleanup_jobs: cleanupJobs,
} as const satisfies Record<string, JobKind>

export type BuiltInKind = keyof typeof builtInKinds

/** Kinds that run in a slot of their own beside the pools, so that they never wait behind other work. */
export const kindsWithOwnSlot: readonly string[] = ['cleanup_jobs'] satisfies BuiltInKind[]
