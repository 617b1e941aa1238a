/** What stands where something is masked. */
const mask = '[redacted]'

export interface Redacted {
  readonly value: unknown
  /** Whether anything was masked. */
  readonly redacted: boolean
}

/** Masks the places that the JSON Pointers name, as far as they exist; the rest is shared, nothing is changed in place. */
export function redact(value: unknown, pointers: readonly string[]): Redacted {
  const masked = pointers.reduce((current, pointer) => maskAt(current, stepsOf(pointer)), value)
  return { value: masked, redacted: masked !== value }
}

function stepsOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function maskAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return mask
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return value
  const child = (value as Record<string, unknown>)[step]
  const masked = maskAt(child, rest)
  if (masked === child) return value
  return Array.isArray(value) ? value.with(Number(step), masked) : { ...value, [step]: masked }
}
