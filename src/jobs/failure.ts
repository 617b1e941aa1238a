import { createHash } from 'node:crypto'
import { withoutSecrets } from './payload-secrets.ts'

/** A failure as it is kept: bounded, without secrets. */
export interface Failure {
  /** `<class>: <message>`, at most 4 KiB of UTF-8. */
  readonly error: string
  readonly name: string
  /** Stack and causes, at most 8 KiB; null: none. */
  readonly detail: string | null
  /** Equal for failures of the same cause: numbers, ids, quoted text and addresses are left out. */
  readonly fingerprint: string
}

const errorBytes = 4 * 1024
const detailBytes = 8 * 1024
const unshowable = 'The handler threw something that cannot be shown.'

/** Describes whatever a handler threw; what the payload keeps secret is masked, should the handler have told it. */
export function describeFailure(thrown: unknown, secrets: readonly string[] = []): Failure {
  try {
    return describe(thrown, secrets)
  } catch {
    // An error in here would end the service, and each that the job is given to next.
    return describe(unshowable, secrets)
  }
}

function describe(thrown: unknown, secrets: readonly string[]): Failure {
  const error = thrown instanceof Error ? thrown : new Error(textOf(thrown))
  const name = textOr(error.name, 'Error') || 'Error'
  const message = redactSecrets(withoutSecrets(textOf(error.message), secrets))
  return {
    error: cutBytes(`${name}: ${message}`, errorBytes),
    name: cutBytes(name, 100),
    detail:
      thrown instanceof Error ? cutBytes(redactSecrets(withoutSecrets(stacks(error), secrets)), detailBytes) : null,
    fingerprint: fingerprint(`${name}: ${message}`),
  }
}

function textOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return unshowable
  }
}

/** What stands in an error is what a handler has put there. */
function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise
}

function stacks(error: Error): string {
  const parts: string[] = []
  for (let each: unknown = error; each instanceof Error && parts.length < 5; each = each.cause)
    parts.push(textOr(each.stack, textOf(each.message)))
  return parts.join('\ncaused by ')
}

/** PostgreSQL stores no NUL, and a lone surrogate would be replaced silently. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed()
}

/** Cuts at a code point so that the UTF-8 form has at most `bytes`. */
export function cutBytes(text: string, bytes: number): string {
  const clean = storable(text.length > bytes ? text.slice(0, bytes) : text)
  const buffer = Buffer.from(clean)
  if (buffer.length <= bytes) return clean
  let end = bytes
  while (end > 0 && (buffer[end]! & 0xc0) === 0x80) end -= 1
  return buffer.toString('utf8', 0, end)
}

/** Takes passwords in URLs, bearer tokens and our own keys out of a text. */
export function redactSecrets(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@/]+@/gi, '$1:***@')
    .replace(/\b(bearer|basic)\s+[\w~+/=.-]{8,}/gi, '$1 ***')
    .replace(/\bsw_[\w-]{8,}/g, 'sw_***')
    .replace(/\b(password|passwd|secret|api[_-]?key|token)(["']?\s*[=:]\s*["']?)[^\s"',;&]+/gi, '$1$2***')
}

/** A name for the cause of a failure; the first line decides. */
export function fingerprint(error: string): string {
  const cause = (error.split('\n', 1)[0] ?? '')
    .slice(0, 1_000)
    .replace(/"[^"]*"|'[^']*'|`[^`]*`|«[^»]*»/g, '<text>')
    .replace(/[^\s<>@]+@[^\s<>@]+/g, '<address>')
    .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>')
    .replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/gi, '<id>')
    .replace(/\d+/g, '<n>')
  return createHash('sha256').update(cause).digest('hex').slice(0, 16)
}
