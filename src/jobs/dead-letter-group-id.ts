import { z } from 'zod'

/**
 * What the dead letters of a group have in common. A part that was not grouped by is left out. The fingerprint '' names those
 * whose failure left none.
 */
export interface DeadLetterGroupKey {
  readonly kind?: string | undefined
  readonly tenantId?: string | undefined
  readonly fingerprint?: string | undefined
  /** The input `JobFilter` that the groups were narrowed down with, as JSON; left out: none. */
  readonly filter?: Readonly<Record<string, unknown>> | undefined
}

const prefix = 'deadletters_'
const shape = z.strictObject({
  kind: z.string().max(63).optional(),
  tenantId: z.uuid().optional(),
  fingerprint: z.string().max(200).optional(),
  filter: z.record(z.string(), z.unknown()).optional(),
})

/** The id of a group: it says all that has to be known to find its jobs again. */
export function encodeDeadLetterGroup(key: DeadLetterGroupKey): string {
  return prefix + Buffer.from(JSON.stringify(key)).toString('base64url')
}

/** Null: no id of ours. */
export function decodeDeadLetterGroup(id: string): DeadLetterGroupKey | null {
  if (!id.startsWith(prefix)) return null
  try {
    const read = shape.safeParse(JSON.parse(Buffer.from(id.slice(prefix.length), 'base64url').toString()))
    return read.success ? read.data : null
  } catch {
    return null
  }
}
