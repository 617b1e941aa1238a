import { isEmailAddress } from '../jobs/email-send-payload.ts'
import { badText } from '../jobs/payload.ts'
import { actorOf, type Caller } from '../jobs/permissions.ts'
import { outsideLength, ranges } from '../jobs/ranges.ts'
import { addSuppression as add } from '../sql/add-suppression.ts'
import type { SuppressionRow } from '../sql/suppression-row.ts'
import { findOwnTenant } from './choose-queue.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

interface AddSuppressionInput {
  readonly address: string
  /** Null or missing: for every tenant. */
  readonly tenantId?: string | null | undefined
  readonly reason: SuppressionRow['reason']
  readonly note?: string | null | undefined
}

export interface SuppressionResult {
  readonly suppression: SuppressionRow | null
  readonly errors: readonly UserError[]
}

/** Lets an address get no more email, of any sort: of one tenant, or of all. */
export async function addSuppression(
  { address, tenantId = null, reason, note = null }: AddSuppressionInput,
  context: RequestContext,
): Promise<SuppressionResult> {
  const caller = authorize(context, [['MANAGE_METADATA']])
  if (tenantId === null) mayActForAll(context)
  const tenant = tenantId === null ? null : await findOwnTenant(tenantId, context, caller, ['tenantId'])
  const errors = [
    ...(tenant === null || tenant.ok ? [] : [tenant.error]),
    ...(isEmailAddress(address)
      ? []
      : [invalid(['address'], 'address must be one plain address such as ada@example.org.')]),
    ...badNote(note),
  ]
  if (errors.length > 0 || tenant?.ok === false) return { suppression: null, errors }
  const { pools, wakeup } = context.deps
  const [row] = await add(
    pools.api,
    tenant?.id ?? null,
    address,
    reason,
    note,
    actorOf(caller.principal),
    context.requestId,
  )
  wakeup.signal('journal')
  return { suppression: row!, errors: [] }
}

/** What holds for every tenant is changed by who may act on the platform itself. */
export function mayActForAll(context: RequestContext): Caller {
  return authorize(context, [['OPERATE_PLATFORM']])
}

function badNote(note: string | null): UserError[] {
  if (note === null) return []
  const problem = badText(note)
  const message = outsideLength('note', note, ranges.reason) ?? (problem === null ? null : `note ${problem}`)
  return message === null ? [] : [invalid(['note'], message)]
}
