import fc from 'fast-check'
import {
  coerceInputValue,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { buildSchema } from '../../src/schema/index.ts'
import { compileInput } from '../../src/server/coerce-input.ts'

const inputs = Object.values(buildSchema().getTypeMap()).filter(isInputObjectType)

const leaves: readonly unknown[] = [
  'text',
  '',
  '2026-03-01T12:00:00.000Z',
  'PT30S',
  'toString',
  0,
  -1,
  7,
  1.5,
  2 ** 40,
  true,
  { in: { depth: [1, null, {}] } },
  [],
]

/** Values as JSON has them: mostly what the type wants, now and then anything. */
function valueOf(type: GraphQLInputType, depth = 0): fc.Arbitrary<unknown> {
  const anything = fc.constantFrom<unknown>(null, ...leaves, [null], { unknown: 1 })
  const good = goodValueOf(type, depth)
  return fc.oneof({ arbitrary: good, weight: 30 }, { arbitrary: anything, weight: 1 })
}

function goodValueOf(type: GraphQLInputType, depth: number): fc.Arbitrary<unknown> {
  if (isNonNullType(type)) return goodValueOf(type.ofType, depth)
  if (isListType(type)) {
    const item = valueOf(type.ofType, depth + 1)
    return fc.oneof(fc.array(item, { maxLength: 3 }), item)
  }
  if (isEnumType(type)) return fc.constantFrom(...type.getValues().map(({ name }) => name))
  if (isInputObjectType(type)) return depth > 4 ? fc.constant({}) : objectOf(type, depth)
  const wanted = leaves.filter((value) => {
    try {
      return type.coerceInputValue(value) !== undefined
    } catch {
      return false
    }
  })
  return fc.constantFrom(...wanted)
}

function objectOf(type: GraphQLInputObjectType, depth: number): fc.Arbitrary<unknown> {
  const fields = Object.values(type.getFields())
  const members = Object.fromEntries(fields.map((field) => [field.name, valueOf(field.type, depth + 1)]))
  const requiredKeys = fields.filter(isRequiredInputField).map(({ name }) => name)
  const whole = type.isOneOf
    ? fc.constantFrom(...Object.keys(members)).chain((name) => members[name]!.map((value) => ({ [name]: value })))
    : fc.record(members, { requiredKeys, noNullPrototype: true })
  const more = fc.oneof({ arbitrary: fc.constant({}), weight: 30 }, { arbitrary: fc.constant({ more: 1 }), weight: 1 })
  return fc.tuple(whole, more).map(([given, rest]) => ({ ...given, ...rest }))
}

describe.each(inputs.map((type) => [type.name, type] as const))('%s', (_, type) => {
  test("coerces to GraphQL's own values, and refuses what it refuses", () => {
    const coerce = compileInput(type)
    let good = 0
    fc.assert(
      fc.property(valueOf(type), (value) => {
        const own = coerce(value)
        const theirs = coerceInputValue(value, type)
        expect(own).toEqual(theirs)
        // Names in the same order, too: payloads are written from them.
        expect(JSON.stringify(own)).toBe(JSON.stringify(theirs))
        if (own != null) good += 1
      }),
      { numRuns: 200 },
    )
    expect(good).toBeGreaterThan(20)
  })
})

test('what JSON can say that a type does not', () => {
  const [type] = inputs.filter(({ name }) => name === 'EnqueueJobInput')
  const coerce = compileInput(type!)
  const job = { custom: { kind: 'echo', payload: {} } }
  for (const text of [
    '{}',
    '[]',
    '"text"',
    '{"job":null}',
    '{"job":{}}',
    '{"job":{"custom":null}}',
    `{"job":${JSON.stringify(job)},"__proto__":{}}`,
    `{"job":${JSON.stringify(job)},"toString":null}`,
    `{"job":{"custom":{"kind":"a","payload":1},"reindex":{"typeKey":"b"}}}`,
    `{"job":{"custom":{"kind":"a","payload":1},"reindex":null}}`,
    `{"__proto__":{"job":${JSON.stringify(job)}}}`,
  ]) {
    const value: unknown = JSON.parse(text)
    expect([text, coerce(value)]).toEqual([text, undefined])
    expect(coerceInputValue(value, type!)).toBeUndefined()
  }
  const coerced = coerce({ job }) as object
  expect('toString' in coerced).toBe(false)
  expect(coerced).toEqual({ job, onConflict: 'IGNORE' })
})
