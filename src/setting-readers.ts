import { isIP } from 'node:net'
import type { z } from 'zod'
import { nearestName } from './jobs/nearest-name.ts'
import { longestTimerMs } from './jobs/ranges.ts'

/** What a reader made of a text: a value, or all that is wrong with it. */
export type Read<Value> = { readonly value: Value } | { readonly problems: readonly string[] }

/** Turns the text of a setting into its value. */
export interface Reader<Value> {
  /** What a good value is, to follow "must be". */
  readonly expects: string
  /** Problems are the rest of a sentence that begins with the setting's name. */
  readonly read: (text: string) => Read<Value>
}

/** A value in one piece; `parse` answers undefined for what is not one. Secret values are never shown. */
export function reader<Value>(
  expects: string,
  parse: (text: string) => Value | undefined,
  shown: 'shown' | 'secret' = 'shown',
): Reader<Value> {
  const read = (text: string): Read<Value> => {
    const value = parse(text)
    if (value !== undefined) return { value }
    return {
      problems: [
        shown === 'secret'
          ? `has a value that is not ${expects}`
          : `is ${JSON.stringify(text)}, which is not ${expects}`,
      ],
    }
  }
  return { expects, read }
}

/** Decimal digits and nothing else. */
export const whole = (min: number, max: number, unit = ''): Reader<number> =>
  reader(`a whole number from ${min} to ${max}${unit}`, (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN
    return value >= min && value <= max ? value : undefined
  })

/** A duration that a timer can wait. */
export const milliseconds = whole(1, longestTimerMs, ' (milliseconds)')

/** One of a closed set of words. */
export const oneOf = <const Name extends string>(...names: readonly Name[]): Reader<Name> =>
  reader(`one of ${names.join(', ')}`, (text) => names.find((name) => name === text))

/** A switch. */
export const onOff: Reader<boolean> = reader('on or off', (text) => ({ on: true, off: false })[text])

/** Text of a form that `accepts` knows; by default any without blanks at its ends. */
export const text = (expects: string, accepts = (value: string) => value.trim() === value): Reader<string> =>
  reader(expects, (value) => (accepts(value) ? value : undefined))

/** Any text; it is never shown. */
export const secret = (expects: string): Reader<string> => reader(expects, (value) => value, 'secret')

/** A URL of one of these schemes, with an authority of the form that `accepts` knows. It may carry a password, so it is never shown. */
export const url = (
  expects: string,
  schemes: readonly string[],
  accepts = (parsed: URL) => parsed.hostname !== '',
): Reader<string> =>
  reader(
    expects,
    (value) => {
      const parsed = URL.parse(value)
      const scheme = schemes.find((known) => value.startsWith(`${known}://`))
      return parsed && scheme && accepts(parsed) ? value : undefined
    },
    'secret',
  )

/** Items between commas, blanks around them do not count. */
export const list = (expects: string, accepts: (item: string) => boolean): Reader<readonly string[]> =>
  reader(`a comma-separated list of ${expects}`, (value) => {
    const items = value.split(',').map((item) => item.trim())
    return items.every(accepts) ? items : undefined
  })

/** 192.0.2.7, 192.0.2.0/24, 2001:db8::/32 */
export const addressRange = (item: string): boolean => {
  const [address = '', bits, ...rest] = item.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

/** https://app.example.org, as browsers write it: no path, no standard port. */
export const isOrigin = (item: string): boolean => /^https?:/.test(item) && URL.parse(item)?.origin === item

/** a@b, or A name <a@b> */
export const mailbox = /^(?:[^<>"\r\n]+ <[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/

/** JSON of a shape; every complaint names its place in the text or in the value. */
export function json<Value>(expects: string, schema: z.ZodType<Value>): Reader<Value> {
  const read = (value: string): Read<Value> => {
    let parsed: unknown
    try {
      parsed = JSON.parse(value)
    } catch (error) {
      const before = value.slice(0, jsonErrorPosition(value, (error as Error).message)).split('\n')
      return {
        problems: [
          `is not valid JSON at line ${before.length}, column ${before.at(-1)!.length + 1}; it must be ${expects}`,
        ],
      }
    }
    const checked = schema.safeParse(parsed, { error: jsonComplaint })
    if (checked.success) return { value: checked.data }
    return {
      problems: checked.error.issues.map((issue) => `is wrong: ${place(issue.path, parsed)} ${issue.message}`),
    }
  }
  return { expects, read }
}

/** V8 tells the place of some errors only; of the others it is where no further text could heal what stands before. */
function jsonErrorPosition(value: string, message: string): number {
  const told = /at position (\d+)/.exec(message)
  if (told) return Number(told[1])
  for (let end = 1; end <= value.length; end++) {
    try {
      JSON.parse(value.slice(0, end))
    } catch (error) {
      if ((error as Error).message.startsWith('Unexpected token')) return end - 1
    }
  }
  return value.length
}

function place(path: readonly PropertyKey[], whole: unknown): string {
  if (path.length === 0) return 'it'
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
  const value = path.reduce<unknown>((at, step) => (at as Record<PropertyKey, unknown> | undefined)?.[step], whole)
  const shown = value === undefined || typeof value === 'object' ? '' : ` (${JSON.stringify(value)})`
  return steps.replace(/^\./, '') + shown
}

/** Complaints follow the place; here stand those that a schema does not bring along. */
const jsonComplaint: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys((issue.inst as unknown as z.ZodObject).shape)
    return issue.keys
      .map((key) => `has the unknown field ${key}, the nearest known one is ${nearestName(key, known)}`)
      .join(' and ')
  }
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'is missing'
  if (issue.code === 'invalid_type') return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
  return undefined
}
