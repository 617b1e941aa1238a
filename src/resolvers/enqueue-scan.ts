import { databaseFault } from '../jobs/database-fault.ts'
import { inTransaction } from '../db/transaction.ts'
import { actorOf, type Caller } from '../jobs/permissions.ts'
import type { VirusScanPayload } from '../jobs/virus-scan-payload.ts'
import type { AttachmentRow } from '../sql/attachment-row.ts'
import { enqueueWithin } from '../sql/enqueue-within.ts'
import { setAttachmentJob } from '../sql/set-attachment-job.ts'
import type { Queryable } from '../sql/statement.ts'
import type { RequestContext } from './context.ts'

/** What a change says of the scan that it asks for. */
interface ScanOrder {
  readonly etag: string
  /** How many were asked for so far, this one included. */
  readonly scans: number
}

/**
 * Makes a change that asks for a scan, and enqueues its job in the same transaction. Answers the attachment as it is then; null:
 * `change` found nothing to do.
 */
export async function enqueueScan(
  row: AttachmentRow,
  context: RequestContext,
  caller: Caller,
  reason: VirusScanPayload['attempt_reason'],
  change: (tx: Queryable) => Promise<ScanOrder | null>,
): Promise<AttachmentRow | null> {
  const { pools, wakeup } = context.deps
  const changed = await inTransaction(pools.commit, async (tx) => {
    const order = await change(tx)
    return order === null ? null : enqueue(tx, row, order, context, caller, reason)
  })
  if (changed !== null) {
    wakeup.signal('work')
    wakeup.signal('journal')
  }
  return changed
}

/** Whoever asks for a look at old files does not let new ones wait. */
const rescanPriority = 190

async function enqueue(
  tx: Queryable,
  { id, tenantId }: AttachmentRow,
  { etag, scans }: ScanOrder,
  { requestId, traceparent }: RequestContext,
  { principal }: Caller,
  reason: VirusScanPayload['attempt_reason'],
): Promise<AttachmentRow> {
  const payload = { attachment_id: id, etag, attempt_reason: reason } satisfies VirusScanPayload
  const [job] = await enqueueWithin(
    tx,
    tenantId,
    'virus_scan',
    JSON.stringify(payload),
    reason === 'rescan' ? rescanPriority : null,
    `scan:${id}:${etag}:${scans}`,
    traceparent,
    actorOf(principal),
    requestId,
  )
  const [changed] = await setAttachmentJob(tx, id, job!.jobId)
  return changed!
}

/** Whether the database refused the job itself, e.g. since its tenant is closed. */
export function wasRefused(error: unknown): error is Error {
  return databaseFault(error) === 'data'
}
