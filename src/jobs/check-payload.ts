import type { z } from 'zod'
import { jsonPointer, type PayloadProblem } from './payload.ts'

export type CheckedPayload =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly problems: readonly PayloadProblem[] }

type Issue = z.core.$ZodIssue

/**
 * Checks a payload against its kind's schema. Each problem names the place as JSON Pointer and the broken keyword of the
 * published JSON Schema; messages never hold a value, since payloads may be secret (FAULTS G06). `payload` is what the handler gets, defaults filled in.
 */
export function checkPayload(schema: z.ZodType, payload: unknown): CheckedPayload {
  const checked = schema.safeParse(payload)
  if (checked.success) return { ok: true, payload: checked.data }
  return { ok: false, problems: checked.error.issues.flatMap((issue) => problemsOf(issue, payload)) }
}

/** A name may be as long as a payload. */
const longestShown = 200

function problemsOf(issue: Issue, payload: unknown): PayloadProblem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const pointer = jsonPointer([...issue.path, key])
      const name = pointer.length > longestShown ? 'This name' : pointer
      return {
        pointer,
        keyword: 'additionalProperties',
        message: `${name} is not known here. Leave it out or look for a spelling mistake.`,
      }
    })
  }
  const pointer = jsonPointer(issue.path)
  if (issue.code !== 'custom' && issue.path.length > 0 && valueAt(payload, issue.path) === undefined) {
    return [{ pointer, keyword: 'required', message: `${pointer} is required.` }]
  }
  return [{ pointer, keyword: keywordOf(issue), message: sentence(issue.message) }]
}

function keywordOf(issue: Exclude<Issue, { code: 'unrecognized_keys' }>): string | null {
  switch (issue.code) {
    case 'invalid_type':
      return 'type'
    case 'too_small':
      return lowerBounds[issue.origin] ?? (issue.inclusive === false ? 'exclusiveMinimum' : 'minimum')
    case 'too_big':
      return upperBounds[issue.origin] ?? (issue.inclusive === false ? 'exclusiveMaximum' : 'maximum')
    case 'invalid_format':
      return patternFormats.has(issue.format) ? 'pattern' : 'format'
    case 'not_multiple_of':
      return 'multipleOf'
    case 'invalid_value':
      return issue.values.length === 1 ? 'const' : 'enum'
    case 'invalid_union':
      return issue.inclusive === false || issue.discriminator !== undefined ? 'oneOf' : 'anyOf'
    case 'invalid_key':
      return 'propertyNames'
    case 'invalid_element':
      return 'items'
    case 'custom':
      return typeof issue.params?.['keyword'] === 'string' ? issue.params['keyword'] : null
  }
}

const lowerBounds: Readonly<Record<string, string>> = {
  string: 'minLength',
  array: 'minItems',
  set: 'minItems',
  object: 'minProperties',
  map: 'minProperties',
  record: 'minProperties',
}
const upperBounds: Readonly<Record<string, string>> = {
  string: 'maxLength',
  array: 'maxItems',
  set: 'maxItems',
  object: 'maxProperties',
  map: 'maxProperties',
  record: 'maxProperties',
}
const patternFormats = new Set<string>(['regex', 'starts_with', 'ends_with', 'includes', 'lowercase', 'uppercase'])

function valueAt(payload: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[step] : undefined,
    payload,
  )
}

function sentence(message: string): string {
  const text = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(text) ? text : `${text}.`
}
