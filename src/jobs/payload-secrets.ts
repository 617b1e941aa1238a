/** Shorter texts are words rather than secrets: hiding them would make a sentence unreadable and hide nothing. */
const shortestSecret = 6

/** The texts and numbers at the places of a payload that its kind keeps secret (JSON Pointers), longest first. */
export function payloadSecrets(payload: unknown, pointers: readonly string[]): string[] {
  const found = new Set(pointers.flatMap((pointer) => leavesOf(valueAt(payload, pointer))))
  return [...found].filter((text) => text.length >= shortestSecret).toSorted((a, b) => b.length - a.length)
}

/** The text with a mask wherever it tells one of the secrets. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((left, secret) => left.replaceAll(secret, '[redacted]'), text)
}

/** The same for every text in a value of JSON. */
export function valueWithoutSecrets(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return withoutSecrets(value, secrets)
  if (Array.isArray(value)) return value.map((each) => valueWithoutSecrets(each, secrets))
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, valueWithoutSecrets(each, secrets)]))
}

function valueAt(payload: unknown, pointer: string): unknown {
  const steps = pointer.split('/').slice(1)
  return steps.reduce<unknown>((value, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
      ? (value as Record<string, unknown>)[name]
      : undefined
  }, payload)
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : []
}
