import { principalOf, tenantPredicate, type Caller, type Principal } from '../jobs/permissions.ts'
import { badText } from '../jobs/payload.ts'
import { mayActFor } from '../jobs/permissions.ts'
import type { AuditFilterParams, AuditNews } from '../events/watch-audit.ts'
import type { AuditRow } from '../sql/audit-row.ts'
import { listAuditEntries } from '../sql/list-audit-entries.ts'
import { listAuditEntriesOfJob } from '../sql/list-audit-entries-of-job.ts'
import { listNotableEntries } from '../sql/list-notable-entries.ts'
import { readAuditEntry } from '../sql/read-audit-entry.ts'
import { ApiError } from './api-error.ts'
import { auditActionOf, journalActionsOf, notableActions, type AuditAction } from './audit-action.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseJobId } from './node-id.ts'
import { openStream } from './open-stream.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page } from './page.ts'

/** The input `AuditFilter`. */
export interface AuditFilterInput {
  readonly action?: readonly AuditAction[] | null | undefined
  readonly actorId?: string | null | undefined
  readonly tenantId?: readonly string[] | null | undefined
  readonly jobId?: string | null | undefined
  readonly at?: { readonly from?: Date | null | undefined; readonly to?: Date | null | undefined } | null | undefined
}

interface AuditInput {
  readonly filter?: AuditFilterInput | null | undefined
  readonly first: number
  readonly after?: string | null | undefined
  /** Whether the position of the read is asked for: it has to be taken before. */
  readonly streamCursor: boolean
}

export interface AuditPage extends Page<AuditRow> {
  readonly streamCursor: string | null
}

const order = 'audit'
const newest = '9223372036854775807'
const mostValues = 1_000

/** The audit log, newest first. Throws BAD_USER_INPUT with the reason LIMIT_EXCEEDED when a filter would look through too much. */
export async function listAudit(
  { filter, streamCursor, ...page }: AuditInput,
  context: RequestContext,
): Promise<AuditPage> {
  const caller = authorize(context, [['READ_AUDIT']])
  const plan = planPage(page)
  const [beforeId = newest] = plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^\d{1,18}$/)
  const { pools, relay } = context.deps
  const position = streamCursor ? await relay.auditCursor() : null
  const match = await matchOf(filter ?? {}, context, caller)
  const rows =
    match === null
      ? []
      : await boundedRead(pools.api, (db) => listFor(filter ?? {})(db, ...match, beforeId, plan.size + 1))
  return { ...pageOf(plan, rows, ({ id }) => encodeCursor(order, [id])), streamCursor: position }
}

/**
 * Lines as they are written, from now or after a cursor; what the caller may see is asked for each of them. Throws BAD_USER_INPUT before
 * the first line.
 */
export async function watchAudit(
  {
    filter,
    after,
  }: { readonly filter?: AuditFilterInput | null | undefined; readonly after?: string | null | undefined },
  context: RequestContext,
): Promise<AsyncIterableIterator<AuditNews>> {
  const caller = authorize(context, [['READ_AUDIT']])
  const asked = await matchOf(filter ?? {}, context, caller)
  const match = (): AuditFilterParams | null => {
    if (asked === null) return null
    const [tenants, ...others] = asked
    const present = filter?.tenantId == null ? tenantPredicate(caller) : tenants!.filter((id) => mayActFor(caller, id))
    return [present, ...others]
  }
  return openStream(context.deps.relay.watchAudit({ match, after: after ?? null }), { speaksAtOnce: false })
}

/** One line by its number in the journal; null: none of the caller's, or none of the audit log. */
export async function findAuditEntry(id: string, context: RequestContext): Promise<AuditRow | null> {
  const caller = authorize(context, [['READ_AUDIT']])
  const [row] = await readAuditEntry(context.deps.pools.api, id, tenantPredicate(caller))
  return row !== undefined && auditActionOf(row.action) !== null ? row : null
}

/** Who did it: the identity that the row names, or the worker. */
export async function auditActor({ actor, worker }: AuditRow, { loaders }: RequestContext): Promise<Principal> {
  if (actor !== null) return principalOf(actor)
  const row = worker === null ? null : await loaders.workers.load(String(worker))
  return { id: row?.name ?? 'worker', name: null, kind: 'WORKER' }
}

function listFor({ jobId, action }: AuditFilterInput) {
  if (jobId != null) return listAuditEntriesOfJob
  return action != null && journalActionsOf(action).every((each) => notableActions.has(each))
    ? listNotableEntries
    : listAuditEntries
}

/** Null: nothing can match, since it names what is not the caller's or what is not there. */
async function matchOf(
  { action, actorId, tenantId, jobId, at }: AuditFilterInput,
  context: RequestContext,
  caller: Caller,
): Promise<AuditFilterParams | null> {
  if ((tenantId?.length ?? 0) > mostValues) throw unreadable('`tenantId` may name at most 1,000 values.')
  const problem = actorId == null ? null : badText(actorId)
  if (problem !== null) throw unreadable(`\`actorId\` ${problem}`)
  const job = jobId == null ? null : parseJobId(jobId)
  if (jobId != null && job === null) return null
  const found = tenantId == null ? null : await Promise.all(tenantId.map((each) => context.deps.tenantKeys.find(each)))
  const tenants =
    found === null
      ? tenantPredicate(caller)
      : found.flatMap((tenant) => (tenant !== null && mayActFor(caller, tenant.id) ? [tenant.id] : []))
  return [
    tenants,
    journalActionsOf(action ?? null),
    actorId == null ? null : formsOf(actorId),
    job,
    at?.from ?? null,
    at?.to ?? null,
  ]
}

/** A principal's id stands in the journal behind its kind; one of SQL and one of a worker is given whole. */
function formsOf(actorId: string): string[] {
  return [actorId, ...['user', 'service', 'system'].map((kind) => `${kind}:${actorId}`)]
}

function unreadable(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `The filter cannot be read. ${message}`, { reason: 'INVALID' })
}
