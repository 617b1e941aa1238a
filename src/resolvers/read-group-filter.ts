import { z } from 'zod'
import type { DeadLetterGroupKey } from '../jobs/dead-letter-group-id.ts'
import { jobStatuses } from '../jobs/lifecycle.ts'
import type { JobFilterInput } from './job-filter.ts'

const texts = z.array(z.string()).nullish()
const text = z.string().nullish()
const numbers = z.strictObject({ min: z.int().nullish(), max: z.int().nullish() }).nullish()
const times = z.strictObject({ from: z.coerce.date().nullish(), to: z.coerce.date().nullish() }).nullish()

/** The input `JobFilter` as it stands in a group's id: what came from a client may be anything. */
const filterShape = z
  .strictObject({
    status: z.array(z.enum(jobStatuses)).nullish(),
    kind: texts,
    tenantId: texts,
    id: texts,
    tag: texts,
    payload: z.unknown(),
    errorFingerprint: text,
    errorText: text,
    idempotencyKey: text,
    correlationId: text,
    workerId: text,
    priority: numbers,
    attemptCount: numbers,
    createdAt: times,
    availableAt: times,
    completedAt: times,
  })
  .partial()

/** The filter that finds the dead letters of a group; null: the group's filter is none. */
export function readGroupFilter({ kind, tenantId, fingerprint, filter }: DeadLetterGroupKey): JobFilterInput | null {
  const read = filterShape.safeParse(filter ?? {})
  if (!read.success) return null
  return {
    ...read.data,
    status: ['dlq'],
    ...(kind !== undefined && { kind: [kind] }),
    ...(tenantId !== undefined && { tenantId: [tenantId] }),
    ...(fingerprint !== undefined && { errorFingerprint: fingerprint }),
  }
}
