import { badText, encodePayload } from '../jobs/payload.ts'
import { actorOf, type Caller } from '../jobs/permissions.ts'
import { outsideLength, outsideRange, ranges } from '../jobs/ranges.ts'
import { chooseTenant, type ChosenTenant } from './choose-tenant.ts'
import type { RequestContext } from './context.ts'
import type { EnqueueJobInput } from './enqueue-input.ts'
import type { EnqueueOrder } from './enqueue-order.ts'
import { findPayloadProblems, type PayloadVerdict } from './find-payload-problems.ts'
import { outsideSchedule } from './schedule.ts'
import { typedPayload, type TypedPayload } from './typed-payload.ts'
import { invalid, type UserError } from './user-error.ts'

export type PreparedOrder =
  | { readonly ok: true; readonly order: EnqueueOrder }
  | { readonly ok: false; readonly errors: readonly UserError[] }

const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * Checks a job to enqueue: everything that is wrong with it, or the order that goes to the database. `path` is where it stands in the
 * input. At once where kind and tenant are known: a promise for each of a hundred jobs, and for each of its steps, costs 100 us.
 */
export function prepareOrder(
  input: EnqueueJobInput,
  context: RequestContext,
  caller: Caller,
  path: readonly string[],
): PreparedOrder | Promise<PreparedOrder> {
  const typed = typedPayload(input.job)
  // Size and depth come first: nothing else looks at a payload that breaks them.
  const encoded = encodePayload(typed.payload)
  const verdict: PayloadVerdict | Promise<PayloadVerdict> = encoded.ok
    ? findPayloadProblems(typed.kind, typed.payload, context)
    : { known: true, problems: [encoded.problem] }
  const tenant = chooseTenant(context, caller, input.tenantId ?? null, [...path, 'tenantId'])
  const judge = (found: PayloadVerdict, chosen: ChosenTenant): PreparedOrder => {
    const errors = [
      ...payloadErrors(found, typed, path),
      ...(chosen.ok ? [] : [chosen.error]),
      ...rangeErrors(input, path),
    ]
    if (errors.length > 0 || !encoded.ok || !chosen.ok) return { ok: false, errors }
    return { ok: true, order: orderOf(input, typed.kind, encoded.text, chosen.tenantId, context, caller) }
  }
  return verdict instanceof Promise || tenant instanceof Promise
    ? Promise.all([verdict, tenant]).then(([found, chosen]) => judge(found, chosen))
    : judge(verdict, tenant)
}

function payloadErrors(verdict: PayloadVerdict, typed: TypedPayload, path: readonly string[]): UserError[] {
  if (!verdict.known) return [invalid([...path, 'job', 'custom', 'kind'], verdict.message)]
  return verdict.problems.map(({ message, ...place }) => invalid([...path, ...typed.path], message, place))
}

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
    tags: input.tags ?? [],
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

function rangeErrors(input: EnqueueJobInput, path: readonly string[]): UserError[] {
  const found: UserError[] = []
  const report = (field: readonly string[], message: string | null): void => {
    if (message !== null) found.push(invalid([...path, ...field], message))
  }
  const text = (field: string, value: string | null | undefined, limit: { readonly maxLength: number }): void => {
    if (value == null) return
    report([field], outsideLength(field, value, limit) ?? unstorable(field, value))
  }
  if (input.priority != null) report(['priority'], outsideRange('priority', input.priority, ranges.priority))
  if (input.maxAttempts != null)
    report(['maxAttempts'], outsideRange('maxAttempts', input.maxAttempts, ranges.maxAttempts))
  text('idempotencyKey', input.idempotencyKey, ranges.idempotencyKey)
  text('correlationId', input.correlationId, ranges.correlationId)
  if (input.tags != null && input.tags.length > ranges.tags.max)
    report(['tags'], `At most ${ranges.tags.max} tags are allowed.`)
  input.tags?.forEach((tag, i) =>
    report(['tags', String(i)], outsideLength('A tag', tag, ranges.tags) ?? unstorable('A tag', tag)),
  )
  report(['schedule'], outsideSchedule(input.schedule))
  return found
}

function unstorable(what: string, value: string): string | null {
  const problem = badText(value)
  return problem === null ? null : `${what} ${problem}`
}
