import { GraphQLError, Kind, valueFromASTUntyped, type ValueNode } from 'graphql'
import { parseDuration } from '../jobs/duration.ts'
import { formatDuration } from '../jobs/format-duration.ts'
import { ranges } from '../jobs/ranges.ts'
import { builder } from './builder.ts'

const instant = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

builder.scalarType('DateTime', {
  description: 'An instant, RFC 3339 in UTC with milliseconds: `2026-03-01T12:00:00.000Z`.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time.html',
  serialize: (value) => (value as Date).toISOString(),
  parseValue(value) {
    const time = typeof value === 'string' ? parseInstant(value) : Number.NaN
    if (Number.isNaN(time)) throw new GraphQLError('An instant looks like 2026-03-01T12:00:00Z.')
    if (time < ranges.instant.min || time > ranges.instant.max)
      throw new GraphQLError('An instant lies between 1970 and 2200.')
    return new Date(time)
  },
})

builder.scalarType('Duration', {
  description: 'An ISO 8601 duration: `PT30S`, `PT15M`, `P1D`.',
  specifiedByURL: 'https://www.iso.org/iso-8601-date-and-time-format.html',
  serialize: (value) => formatDuration(value as number),
  parseValue(value) {
    const ms = typeof value === 'string' ? parseDuration(value) : null
    if (ms === null)
      throw new GraphQLError(
        'A duration looks like PT30S, PT15M or P1DT12H, in weeks, days, hours, minutes and seconds.',
      )
    return ms
  },
})

builder.scalarType('JSON', {
  description:
    'Any JSON value. Numbers are read as JavaScript does: whole ones beyond 2^53 lose digits on their way in, so send those as text.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => jsonOf(node, variables),
})

builder.scalarType('SafeInt', {
  description: 'A whole number up to 2^53 - 1, for counters that outgrow `Int`.',
  specifiedByURL: 'https://tc39.es/ecma262/#sec-number.max_safe_integer',
  serialize: (value) => value as number,
  parseValue(value) {
    if (!Number.isSafeInteger(value)) throw new GraphQLError('A whole number up to 2^53 - 1 is expected.')
    return value as number
  },
  parseLiteral(node) {
    const value = node.kind === Kind.INT ? Number(node.value) : Number.NaN
    if (!Number.isSafeInteger(value)) throw new GraphQLError('A whole number up to 2^53 - 1 is expected.')
    return value
  },
})

/** Date.parse takes the 30th of February for the 2nd of March. */
function parseInstant(text: string): number {
  const day = instant.exec(text)?.[1]
  if (day === undefined || !new Date(day).toJSON()?.startsWith(day)) return Number.NaN
  return Date.parse(text)
}

/** Objects are built anew, since `__proto__` is an ordinary name in JSON. */
function jsonOf(node: ValueNode, variables: Readonly<Record<string, unknown>> | null | undefined): unknown {
  switch (node.kind) {
    case Kind.OBJECT:
      return Object.fromEntries(node.fields.map((field) => [field.name.value, jsonOf(field.value, variables)]))
    case Kind.LIST:
      return node.values.map((value) => jsonOf(value, variables))
    case Kind.VARIABLE:
      return variables?.[node.name.value] ?? null
    case Kind.ENUM:
      throw new GraphQLError('JSON knows true, false and null, and no other bare words.')
    default:
      return valueFromASTUntyped(node)
  }
}
