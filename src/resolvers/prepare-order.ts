import { badText, encodePayload, type EncodedPayload } from '../jobs/payload.ts'
import { actorOf, type Caller } from '../jobs/permissions.ts'
import { outsideLength, outsideRange, ranges } from '../jobs/ranges.ts'
import { chooseTenant, type ChosenTenant } from './choose-tenant.ts'
import type { RequestContext } from './context.ts'
import type { EnqueueJobInput } from './enqueue-input.ts'
import type { EnqueueOrder } from './enqueue-order.ts'
import { findPayloadProblems, type PayloadVerdict } from './find-payload-problems.ts'
import { jobPath } from './job-path.ts'
import { outsideSchedule } from './schedule.ts'
import { typedPayload, type TypedPayload } from './typed-payload.ts'
import { invalid, type UserError } from './user-error.ts'

export type PreparedOrder =
  | { readonly ok: true; readonly order: EnqueueOrder }
  | { readonly ok: false; readonly errors: readonly UserError[] }

const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * Checks a job to enqueue: everything that is wrong with it, or the order that goes to the database. `index` is its place among several, and stands
 * in the paths of errors. At once where kind and tenant are known: a promise for each of a hundred jobs, and for each of its steps, costs 100 us.
 */
export function prepareOrder(
  input: EnqueueJobInput,
  context: RequestContext,
  caller: Caller,
  index: number | null,
): PreparedOrder | Promise<PreparedOrder> {
  const typed = typedPayload(input.job)
  // Size and depth come first: nothing else looks at a payload that breaks them.
  const encoded = encodePayload(typed.payload)
  const verdict: PayloadVerdict | Promise<PayloadVerdict> = encoded.ok
    ? findPayloadProblems(typed.kind, typed.payload, context)
    : { known: true, problems: [encoded.problem] }
  const tenant = chooseTenant(context, caller, input.tenantId ?? null, tenantPath)
  const checked: Checked = { input, context, caller, index, typed, encoded }
  return verdict instanceof Promise || tenant instanceof Promise
    ? Promise.all([verdict, tenant]).then(([found, chosen]) => judge(checked, found, chosen))
    : judge(checked, verdict, tenant)
}

const tenantPath = ['tenantId']

interface Checked {
  readonly input: EnqueueJobInput
  readonly context: RequestContext
  readonly caller: Caller
  readonly index: number | null
  readonly typed: TypedPayload
  readonly encoded: EncodedPayload
}

function judge(checked: Checked, verdict: PayloadVerdict, tenant: ChosenTenant): PreparedOrder {
  const { input, context, caller, index, typed, encoded } = checked
  const errors = rangeErrors(input)
  if (isGood(verdict) && tenant.ok && encoded.ok && errors.length === 0)
    return { ok: true, order: orderOf(input, typed.kind, encoded.text, tenant.tenantId, context, caller) }
  const found = [...payloadErrors(verdict, typed), ...(tenant.ok ? [] : [tenant.error]), ...errors]
  const above = jobPath(index)
  return { ok: false, errors: found.map((error) => ({ ...error, path: [...above, ...error.path] })) }
}

const isGood = (verdict: PayloadVerdict): boolean => verdict.known && verdict.problems.length === 0

function payloadErrors(verdict: PayloadVerdict, typed: TypedPayload): UserError[] {
  if (!verdict.known) return [invalid(['job', 'custom', 'kind'], verdict.message)]
  return verdict.problems.map(({ message, ...place }) => invalid(typed.path, message, place))
}

const noTags: readonly string[] = []

function orderOf(
  input: EnqueueJobInput,
  kind: string,
  payloadText: string,
  tenantId: string,
  context: RequestContext,
  caller: Caller,
): EnqueueOrder {
  return {
    tenantId,
    kind,
    payloadText,
    priority: input.priority ?? null,
    maxAttempts: input.maxAttempts ?? null,
    schedule: scheduleOf(input),
    idempotencyKey: input.idempotencyKey ?? null,
    replaces: input.onConflict === 'UPDATE',
    tags: input.tags ?? noTags,
    correlationId: input.correlationId ?? null,
    traceContext: context.traceparent !== null && traceparent.test(context.traceparent) ? context.traceparent : null,
    actor: actorOf(caller.principal),
    requestId: context.requestId,
  }
}

function scheduleOf({ schedule }: EnqueueJobInput): EnqueueOrder['schedule'] {
  if (schedule?.at != null) return { at: schedule.at }
  return schedule?.after == null ? null : { afterMs: schedule.after }
}

function rangeErrors(input: EnqueueJobInput): readonly UserError[] {
  const { priority, maxAttempts, idempotencyKey, correlationId, tags, schedule } = input
  const isBare = priority == null && maxAttempts == null && idempotencyKey == null && correlationId == null
  if (isBare && tags == null && schedule == null) return none
  const found: UserError[] = []
  const report = (path: readonly string[], message: string | null): void => {
    if (message !== null) found.push(invalid(path, message))
  }
  const text = (field: string, value: string | null | undefined, limit: { readonly maxLength: number }): void => {
    if (value == null) return
    report([field], outsideLength(field, value, limit) ?? unstorable(field, value))
  }
  if (priority != null) report(['priority'], outsideRange('priority', priority, ranges.priority))
  if (maxAttempts != null) report(['maxAttempts'], outsideRange('maxAttempts', maxAttempts, ranges.maxAttempts))
  text('idempotencyKey', idempotencyKey, ranges.idempotencyKey)
  text('correlationId', correlationId, ranges.correlationId)
  if (tags != null && tags.length > ranges.tags.max) report(['tags'], `At most ${ranges.tags.max} tags are allowed.`)
  tags?.forEach((tag, i) =>
    report(['tags', String(i)], outsideLength('A tag', tag, ranges.tags) ?? unstorable('A tag', tag)),
  )
  report(['schedule'], outsideSchedule(schedule))
  return found
}

const none: readonly UserError[] = []

function unstorable(what: string, value: string): string | null {
  const problem = badText(value)
  return problem === null ? null : `${what} ${problem}`
}
