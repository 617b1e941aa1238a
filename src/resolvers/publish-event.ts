import { isEventType } from '../jobs/event-types.ts'
import { badText, encodePayload } from '../jobs/payload.ts'
import { outsideLength } from '../jobs/ranges.ts'
import { publishEvent as publish } from '../sql/publish-event.ts'
import { chooseTenant } from './choose-tenant.ts'
import { authorize, type RequestContext } from './context.ts'
import { invalid, type UserError } from './user-error.ts'

interface PublishEventInput {
  readonly tenantId?: string | null | undefined
  readonly type: string
  readonly aggregateType?: string | null | undefined
  readonly aggregateId?: string | null | undefined
  /** Any JSON. */
  readonly payload?: unknown
}

export interface PublishEventResult {
  readonly eventId: string | null
  readonly errors: readonly UserError[]
}

const longestName = { maxLength: 200 }

/** Writes an event into the outbox: every endpoint that wants its type gets it. */
export async function publishEvent(
  { tenantId = null, type, aggregateType = null, aggregateId = null, payload }: PublishEventInput,
  context: RequestContext,
): Promise<PublishEventResult> {
  const caller = authorize(context, [['ENQUEUE_JOBS']])
  const tenant = await chooseTenant(context, caller, tenantId, ['tenantId'])
  // Any JSON is an event's payload; the rules for a job's hold for it one level down.
  const encoded = encodePayload({ payload })
  const errors = [
    ...(tenant.ok ? [] : [tenant.error]),
    ...(isEventType(type) ? [] : [invalid(['type'], 'type must be 1 to 128 of letters, digits and _ . : / -.')]),
    ...nameProblems({ aggregateType, aggregateId }),
    ...(encoded.ok
      ? []
      : [
          invalid(['payload'], encoded.problem.message, {
            pointer: encoded.problem.pointer.replace(/^\/payload/, ''),
            keyword: encoded.problem.keyword,
          }),
        ]),
  ]
  if (!tenant.ok || errors.length > 0) return { eventId: null, errors }
  const { pools, wakeup } = context.deps
  const [event] = await publish(pools.api, tenant.tenantId, type, aggregateType, aggregateId, JSON.stringify(payload))
  wakeup.signal('work')
  return { eventId: event!.eventId, errors: [] }
}

function nameProblems(names: Readonly<Record<string, string | null>>): UserError[] {
  return Object.entries(names).flatMap(([field, value]) => {
    if (value === null) return []
    const bad = badText(value)
    const problem = bad === null ? outsideLength(field, value, longestName) : `${field} ${bad}`
    return problem === null ? [] : [invalid([field], problem)]
  })
}
