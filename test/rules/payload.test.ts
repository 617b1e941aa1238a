import fc from 'fast-check'
import { z } from 'zod'
import { describe, expect, test } from 'vitest'
import { checkPayload } from '../../src/jobs/check-payload.ts'
import { parseDuration } from '../../src/jobs/duration.ts'
import { emailSendPayload } from '../../src/jobs/email-send-payload.ts'
import { formatDuration } from '../../src/jobs/format-duration.ts'
import { encodePayload } from '../../src/jobs/payload.ts'
import { redact } from '../../src/jobs/redact.ts'

describe('encodePayload', () => {
  test('D01: whatever JSON is accepted comes back as it was, and PostgreSQL could keep it', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 40, stringUnit: 'binary' })),
        (payload) => {
          const encoded = encodePayload(payload)
          if (!encoded.ok) return /NUL|surrogate|deeper|bytes/.test(encoded.problem.message)
          expect(JSON.parse(encoded.text)).toEqual(JSON.parse(JSON.stringify(payload)))
          return Buffer.byteLength(encoded.text) <= 65_536 && !encoded.text.includes(String.raw`\u0000`)
        },
      ),
    )
  })
  test('D07: bytes are counted, not characters', () => {
    expect(encodePayload({ t: 'ä'.repeat(32_764) }).ok).toBe(true)
    expect(encodePayload({ t: 'ä'.repeat(32_765) }).ok).toBe(false)
  })
  test('D01: a place is named by a JSON Pointer with its escapes', () => {
    expect(encodePayload({ 'a/b': { 'c~d': ['x', '\0'] } })).toMatchObject({
      ok: false,
      problem: { pointer: '/a~1b/c~0d/1' },
    })
  })
})

describe('checkPayload', () => {
  test.each([
    [z.object({ a: z.literal(1) }), { a: 2 }, '/a', 'const'],
    [z.object({ a: z.union([z.string(), z.number()]) }), { a: true }, '/a', 'anyOf'],
    [
      z.object({ a: z.discriminatedUnion('t', [z.object({ t: z.literal('x') }), z.object({ t: z.literal('y') })]) }),
      { a: { t: 'z' } },
      '/a/t',
      'oneOf',
    ],
    [z.object({ a: z.number().gt(1) }), { a: 1 }, '/a', 'exclusiveMinimum'],
    [z.object({ a: z.record(z.string().regex(/^x/), z.string()) }), { a: { y: 'b' } }, '/a/y', 'propertyNames'],
    [z.object({ a: z.enum(['x']) }), {}, '/a', 'required'],
    [z.object({ a: z.union([z.string(), z.number()]) }), {}, '/a', 'required'],
    [z.object({ a: z.array(z.string()).min(1) }), { a: [] }, '/a', 'minItems'],
  ])('%#: the keyword of the JSON Schema', (schema, payload, pointer, keyword) => {
    expect(checkPayload(schema, payload)).toMatchObject({ ok: false, problems: [{ pointer, keyword }] })
  })
  test('every problem, each with its place', () => {
    const schema = z.strictObject({
      to: z.strictObject({ address: z.email() }),
      text: z.string().min(1),
      name: z.string(),
    })
    const checked = checkPayload(schema, { to: { address: 'no' }, text: '', more: 1 })
    expect(checked.ok ? [] : checked.problems.map(({ pointer, keyword }) => [pointer, keyword])).toEqual([
      ['/to/address', 'format'],
      ['/text', 'minLength'],
      ['/name', 'required'],
      ['/more', 'additionalProperties'],
    ])
  })
  test('exactly one of template and content, in an email', () => {
    const to = { address: 'ada@example.org' }
    expect(checkPayload(emailSendPayload, { to })).toMatchObject({
      ok: false,
      problems: [{ pointer: '', keyword: 'oneOf' }],
    })
  })
  test('what the handler gets has its defaults', () => {
    expect(checkPayload(z.object({ n: z.int().default(5) }), {})).toEqual({ ok: true, payload: { n: 5 } })
  })
})

test('redact masks what is there, shares the rest, changes nothing in place', () => {
  const payload = { a: { b: 1, c: [1, 2] }, d: { e: 1 }, 'x/y': 1 }
  const { value, redacted } = redact(payload, ['/a/b', '/a/c/1', '/none/at/all', '/a/c/9', '/x~1y'])
  expect({ value, redacted }).toEqual({
    value: { a: { b: '[redacted]', c: [1, '[redacted]'] }, d: { e: 1 }, 'x/y': '[redacted]' },
    redacted: true,
  })
  expect(payload.a.b).toBe(1)
  expect((value as typeof payload).d).toBe(payload.d)
  expect(redact(payload, ['/none'])).toEqual({ value: payload, redacted: false })
})

test('durations are written as they are read', () => {
  expect([0, 250, 30_000, 900_000, 86_400_000, 129_600_000, 90_061_001].map(formatDuration)).toEqual([
    'PT0S',
    'PT0.25S',
    'PT30S',
    'PT15M',
    'P1D',
    'P1DT12H',
    'P1DT1H1M1.001S',
  ])
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 400 * 86_400_000 }), (ms) => parseDuration(formatDuration(ms)) === ms),
  )
})
