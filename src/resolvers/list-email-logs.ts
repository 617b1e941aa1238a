import { badText } from '../jobs/payload.ts'
import { mayActFor, tenantPredicate, type Caller } from '../jobs/permissions.ts'
import type { EmailStatus } from '../sql/begin-email.ts'
import type { EmailLogRow } from '../sql/email-log-row.ts'
import { listEmailLogs as read } from '../sql/list-email-logs.ts'
import { readEmailLog } from '../sql/read-email-log.ts'
import { ApiError } from './api-error.ts'
import { boundedRead } from './bounded-read.ts'
import { authorize, type RequestContext } from './context.ts'
import { parseJobId } from './node-id.ts'
import { decodeCursor, encodeCursor, pageOf, planPage, type Page } from './page.ts'

/** The input `EmailLogFilter`, and the job whose mails are asked for. */
export interface EmailLogFilterInput {
  readonly status?: readonly EmailStatus[] | null | undefined
  readonly tenantId?: readonly string[] | null | undefined
  readonly recipient?: string | null | undefined
  readonly providerMessageId?: string | null | undefined
  readonly createdAt?:
    | { readonly from?: Date | null | undefined; readonly to?: Date | null | undefined }
    | null
    | undefined
  readonly jobId?: string
}

interface EmailLogsInput {
  readonly filter?: EmailLogFilterInput | null | undefined
  readonly first: number
  readonly after?: string | null | undefined
}

const order = 'email_logs'
const mostTenants = 1_000

/** The email log, newest first. */
export async function listEmailLogs(
  { filter, ...page }: EmailLogsInput,
  context: RequestContext,
): Promise<Page<EmailLogRow>> {
  const caller = authorize(context, [['READ_AUDIT']])
  const plan = planPage(page)
  const [before = null] = plan.cursor === null ? [] : decodeCursor(order, plan.cursor, /^[0-9a-f-]{36}$/)
  const { status, recipient, providerMessageId, createdAt, jobId } = filter ?? {}
  const problem = badText(`${recipient ?? ''}${providerMessageId ?? ''}`)
  if (problem !== null) throw unreadable(`A text ${problem}`)
  const tenants = await tenantsOf(filter?.tenantId ?? null, context, caller)
  const job = jobId === undefined ? null : parseJobId(jobId)
  const rows = await boundedRead(context.deps.pools.api, (db) =>
    read(
      db,
      tenants,
      job,
      status ?? null,
      recipient ?? null,
      providerMessageId ?? null,
      createdAt?.from ?? null,
      createdAt?.to ?? null,
      before,
      plan.size + 1,
    ),
  )
  return pageOf(plan, rows, ({ id }) => encodeCursor(order, [id]))
}

/** One line by its uuid; null: none of the caller's. */
export async function findEmailLog(id: string, context: RequestContext): Promise<EmailLogRow | null> {
  const caller = authorize(context, [['READ_AUDIT']])
  return (await readEmailLog(context.deps.pools.api, id, tenantPredicate(caller)))[0] ?? null
}

/** The recipient as this caller may see it: whole with READ_PAYLOADS. */
export function shownRecipient({ recipient }: Pick<EmailLogRow, 'recipient'>, { caller }: RequestContext): string {
  if (caller?.scopes.has('READ_PAYLOADS')) return recipient
  const at = recipient.lastIndexOf('@')
  return `${recipient.slice(0, 1)}***${recipient.slice(at)}`
}

/** What the provider said, without the recipient where this caller may not see it. */
export function shownError(row: EmailLogRow, context: RequestContext): string | null {
  const shown = shownRecipient(row, context)
  if (row.error === null || shown === row.recipient) return row.error
  const found = new RegExp(row.recipient.replaceAll(/[^\w@]/g, '\\$&'), 'gi')
  return row.error.replaceAll(found, () => shown)
}

async function tenantsOf(
  named: readonly string[] | null,
  { deps }: RequestContext,
  caller: Caller,
): Promise<string[] | null> {
  if (named === null) return tenantPredicate(caller)
  if (named.length > mostTenants) throw unreadable('`tenantId` may name at most 1,000 values.')
  const found = await Promise.all(named.map((each) => deps.tenantKeys.find(each)))
  return found.flatMap((tenant) => (tenant !== null && mayActFor(caller, tenant.id) ? [tenant.id] : []))
}

function unreadable(message: string): ApiError {
  return new ApiError('BAD_USER_INPUT', `The filter cannot be read. ${message}`, { reason: 'INVALID' })
}
