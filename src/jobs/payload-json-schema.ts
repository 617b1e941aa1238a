import { z } from 'zod'

/**
 * The JSON Schema (2020-12) of what may be enqueued, without defaults and transforms applied.
 * What JSON Schema cannot say (a date object, a custom check) is left open there: the payload schema itself still decides.
 */
export function payloadJsonSchema(payload: z.ZodType): Record<string, unknown> {
  return z.toJSONSchema(payload, { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>
}
