import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cutBytes, describeFailure, fingerprint, redactSecrets } from '../../src/jobs/failure.ts'

const bytes = (text: string): number => Buffer.byteLength(text)

describe('R08: bounded in bytes, at a code point', () => {
  test('64 KiB of 4-byte characters', () => {
    const { error, detail } = describeFailure(new Error('𝄞'.repeat(16 * 1024)))
    expect(bytes(error)).toBeLessThanOrEqual(4_096)
    expect(bytes(error)).toBeGreaterThan(4_092)
    expect(error.endsWith('𝄞')).toBe(true)
    expect(bytes(detail!)).toBeLessThanOrEqual(8_192)
    expect(detail!.isWellFormed()).toBe(true)
  })

  test('any text, any bound: well-formed, within it, the front of it, and not shorter than need be', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 0, max: 80 }), (text, most) => {
        const cut = cutBytes(text, most)
        const clean = text.replaceAll('\0', '\uFFFD')
        expect(bytes(cut)).toBeLessThanOrEqual(most)
        expect(clean.startsWith(cut)).toBe(true)
        const next = [...clean.slice(cut.length)][0]
        expect(next === undefined || bytes(cut) + bytes(next) > most).toBe(true)
      }),
    )
  })

  test('what PostgreSQL cannot store is replaced', () => {
    expect(cutBytes('a\0b\ud83dc', 100)).toBe('a\uFFFDb\uFFFDc')
    expect(describeFailure(new Error('nul \0 here')).error).toBe('Error: nul \uFFFD here')
  })

  test('whatever is thrown: every part is bounded and storable', () => {
    fc.assert(
      fc.property(fc.anything(), fc.string({ unit: 'binary' }), (thrown, text) => {
        for (const what of [thrown, new Error(text), Object.assign(new Error(text), { name: text })]) {
          const { error, name, detail, fingerprint: print } = describeFailure(what)
          expect(bytes(error)).toBeLessThanOrEqual(4_096)
          expect(bytes(name)).toBeLessThanOrEqual(100)
          expect(bytes(detail ?? '')).toBeLessThanOrEqual(8_192)
          expect([error, name, detail ?? ''].every((each) => each.isWellFormed() && !each.includes('\0'))).toBe(true)
          expect(print).toMatch(/^[0-9a-f]{16}$/)
        }
      }),
    )
  })
})

test('stack and causes are kept as detail', () => {
  const error = new Error('outer', { cause: new TypeError('inner') })
  expect(describeFailure(error)).toMatchObject({
    error: 'Error: outer',
    detail: expect.stringMatching(/Error: outer[^]*caused by TypeError: inner/),
  })
})

test('a cause that goes in a circle ends', () => {
  const error = new Error('round')
  error.cause = error
  expect(bytes(describeFailure(error).detail!)).toBeLessThanOrEqual(8_192)
})

test.each([
  ['postgres://ada:swordfish@db/x', 'swordfish'],
  ['smtp://user:s3cr3t@host:25 refused', 's3cr3t'],
  ['Authorization: Bearer abcdefgh.ijkl-mnop', 'abcdefgh'],
  ['basic QWxhZGRpbjpvcGVu', 'QWxhZGRpbjpvcGVu'],
  ['the key sw_abcdefghijklmnop is unknown', 'abcdefghijklmnop'],
  ['password=hunter2;', 'hunter2'],
  ['{"password": "hunter2"}', 'hunter2'],
  ['api_key: 12345xyz', '12345xyz'],
  ["token = 'zzz999'", 'zzz999'],
])('secrets are taken out of: %s', (text, secret) => {
  expect(redactSecrets(text)).not.toContain(secret)
  const { error, detail } = describeFailure(new Error(text))
  expect(error).not.toContain(secret)
  expect(detail).not.toContain(secret)
})

test('what is no secret stays', () => {
  const text = 'http://example.org:8080/a took 3 s; ada@example.org'
  expect(redactSecrets(text)).toBe(text)
})

describe('fingerprints', () => {
  test.each([
    ['Error: job 17 failed after 3 ms', 'Error: job 18 failed after 250 ms'],
    ['Error: no user "ada"', 'Error: no user "grace"'],
    ['Error: 550 ada@example.org unknown', 'Error: 550 grace@example.net unknown'],
    ['Error: 018f3c1e-7b7a-7c3a-9d2e-1234567890ab gone', 'Error: 118f3c1e-7b7a-7c3a-9d2e-1234567890ff gone'],
    ['Error: object deadbeef01 gone', 'Error: object 0badcafe99 gone'],
    ['Error: same\n  at one.ts:1', 'Error: same\n  at two.ts:2'],
  ])('%s ~ %s', (one, other) => {
    expect(fingerprint(one)).toBe(fingerprint(other))
  })

  test.each([
    ['TypeError: no', 'RangeError: no'],
    ['Error: connection refused', 'Error: connection reset'],
    ['Error: defaced', 'Error: decoded'],
  ])('%s is another than %s', (one, other) => {
    expect(fingerprint(one)).not.toBe(fingerprint(other))
  })
})

describe('errors whose parts are no texts', () => {
  const odd = (parts: object) => Object.assign(new Error('plain'), parts)
  test.each([
    ['an object as message', odd({ message: { code: 'E_ODD' } }), 'Error: {"code":"E_ODD"}'],
    ['no message', odd({ message: undefined }), 'Error: undefined'],
    ['a number as stack', odd({ stack: 5 }), 'Error: plain'],
  ])('%s', (_, thrown, error) => {
    expect(describeFailure(thrown).error).toBe(error)
  })

  test.each([
    ['a symbol as message', odd({ message: Symbol('s') })],
    ['a symbol as name', odd({ name: Symbol('s') })],
  ])('%s', (_, thrown) => {
    expect(describeFailure(thrown)).toMatchObject({ error: expect.stringMatching(/^Error: /), name: 'Error' })
  })

  test('parts that cannot be read at all', () => {
    const thrown = Object.defineProperty(new Error('plain'), 'message', {
      get() {
        throw new Error('not for you')
      },
    })
    expect(describeFailure(thrown)).toMatchObject({ error: expect.stringContaining('cannot be shown'), name: 'Error' })
  })
})
