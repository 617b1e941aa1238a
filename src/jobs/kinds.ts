import { bulkImport } from './built-in/bulk-import.ts'
import { cleanupJobs } from './built-in/cleanup-jobs.ts'
import { documentProcess } from './built-in/document-process.ts'
import { emailSend } from './built-in/email-send.ts'
import { ginBackfill } from './built-in/gin-backfill.ts'
import { indexSync } from './built-in/index-sync.ts'
import { outboxDispatch } from './built-in/outbox-dispatch.ts'
import { reindex } from './built-in/reindex.ts'
import { virusScan } from './built-in/virus-scan.ts'
import type { JobKind } from './kind.ts'

/** The platform's own kinds. A handler missing for one of them does not compile (workers/handlers). */
export const builtInKinds = {
  email_send: emailSend,
  bulk_import: bulkImport,
  cleanup_jobs: cleanupJobs,
  reindex,
  index_sync: indexSync,
  gin_backfill: ginBackfill,
  outbox_dispatch: outboxDispatch,
  virus_scan: virusScan,
  document_process: documentProcess,
} as const satisfies Record<string, JobKind>

export type BuiltInKind = keyof typeof builtInKinds

/**
 * Kinds that run in slots of their own beside the pools: they neither wait behind other work nor keep it waiting. An index build takes up to an
 * hour, most of which it waits; there is one at a time, so that the slots never fill up. A webhook waits for a stranger's server.
 */
export const kindsWithOwnSlot: readonly string[] = [
  'cleanup_jobs',
  'index_sync',
  'gin_backfill',
  'outbox_dispatch',
] satisfies BuiltInKind[]

/** Webhooks that one instance sends at once. */
export const webhookSlots = 8

/** How many slots these kinds have beside the pools: in one pool, since each more would claim anew at each wake-up. */
export function ownSlots(kinds: readonly string[]): number {
  return kinds.reduce((slots, kind) => slots + (kind === 'outbox_dispatch' ? webhookSlots : 1), 0)
}
