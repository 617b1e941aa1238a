type Schema = Readonly<Record<string, unknown>>

/** Whether a value that a JSON Schema allows may have something at a JSON Pointer; true wherever the schema does not say. */
export function canHave(schema: Schema, pointer: string): boolean {
  const steps = pointer.split('/').slice(1)
  return reaches(
    schema,
    steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')),
  )
}

function reaches(given: unknown, steps: readonly string[]): boolean {
  const [step, ...further] = steps
  if (step === undefined || typeof given !== 'object' || given === null) return given !== false
  const schema = given as Schema
  // Definitions may hold themselves: what is behind them is not looked at.
  if ('$ref' in schema) return true
  const choices = ['anyOf', 'oneOf', 'allOf'].flatMap((word) => (schema[word] as readonly unknown[] | undefined) ?? [])
  if (choices.length > 0) return choices.some((choice) => reaches(choice, steps))
  const { type, properties = {}, additionalProperties, items, prefixItems } = schema
  if (type === 'array') return prefixItems !== undefined || items === undefined || reaches(items, further)
  if (type !== undefined && type !== 'object') return false
  if (Object.hasOwn(properties as object, step)) return reaches((properties as Schema)[step], further)
  // A schema that names no property says nothing of any.
  if (additionalProperties === undefined) return Object.keys(properties as object).length === 0
  return reaches(additionalProperties, further)
}
