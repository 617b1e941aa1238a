import { ranges } from './ranges.ts'

/** What is wrong with a payload, and where (JSON Pointer; empty: the payload as a whole). */
export interface PayloadProblem {
  readonly pointer: string
  /** The broken JSON Schema keyword; null where the rule is not one of a schema. */
  readonly keyword: string | null
  readonly message: string
}

export type EncodedPayload =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: PayloadProblem }

/**
 * The JSON text of a payload, if the database can keep it: an object, at most 64 KiB of text and 32 levels, without NUL and
 * lone surrogates in texts and names. Depth is counted before anything else, and without recursion: JSON.stringify itself fails
 * at 5,000 levels. Numbers are as exact as JSON.parse left them: whole ones beyond 2^53 lost digits before they came here.
 */
export function encodePayload(payload: unknown): EncodedPayload {
  const problem = notAnObject(payload) ?? badPlace(payload as object)
  if (problem !== null) return { ok: false, problem }
  const text = JSON.stringify(payload)
  const bytes = Buffer.byteLength(text)
  if (bytes <= ranges.payloadBytes.max) return { ok: true, text }
  return refuse(
    '',
    `The payload has ${bytes.toLocaleString('en')} bytes as JSON; at most 65,536 (64 KiB) are allowed. Store what is larger elsewhere and pass its name.`,
  )
}

/** A JSON Pointer (RFC 6901) from the steps of a path. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function notAnObject(payload: unknown): PayloadProblem | null {
  if (typeof payload === 'object' && payload !== null && !Array.isArray(payload)) return null
  const found = payload === null ? 'null' : Array.isArray(payload) ? 'a list' : `a ${typeof payload}`
  return { pointer: '', keyword: 'type', message: `The payload must be a JSON object, not ${found}.` }
}

interface Place {
  readonly value: unknown
  readonly depth: number
  readonly key: string | number | null
  readonly parent: Place | null
}

function badPlace(payload: object): PayloadProblem | null {
  const open: Place[] = [{ value: payload, depth: 1, key: null, parent: null }]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { value, depth } = place
    if (typeof value === 'string') {
      const message = badText(value)
      if (message !== null) return { pointer: pointerOf(place), keyword: null, message: `The text ${message}` }
    } else if (typeof value === 'object' && value !== null) {
      if (depth > ranges.payloadDepth.max) {
        return {
          pointer: pointerOf(place.parent!),
          keyword: null,
          message: 'The payload is nested deeper than 32 levels.',
        }
      }
      for (const [key, child] of Object.entries(value)) {
        const message = Array.isArray(value) ? null : badText(key)
        if (message !== null)
          return { pointer: pointerOf(place), keyword: 'propertyNames', message: `A name in this object ${message}` }
        open.push({ value: child, depth: depth + 1, key, parent: place })
      }
    } else if (typeof value === 'number' && !Number.isFinite(value)) {
      return { pointer: pointerOf(place), keyword: 'type', message: 'The number is too large for JSON.' }
    }
  }
  return null
}

/** Null, or why the database cannot keep this text: the end of a sentence that begins with its name. */
export function badText(text: string): string | null {
  if (text.includes('\0')) return 'holds a NUL character (U+0000), which PostgreSQL cannot store. Leave it out.'
  if (!text.isWellFormed())
    return 'holds half of a surrogate pair, which is no character. Cut texts between characters.'
  return null
}

/** Of a name that cannot be shown, the pointer stops at the object. */
function pointerOf(place: Place): string {
  const path: (string | number)[] = []
  for (let at: Place | null = place; at !== null && at.key !== null; at = at.parent) path.unshift(at.key)
  return jsonPointer(path)
}

function refuse(pointer: string, message: string): EncodedPayload {
  return { ok: false, problem: { pointer, keyword: null, message } }
}
