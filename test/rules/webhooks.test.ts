import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { isEventPattern, isEventType } from '../../src/jobs/event-types.ts'
import { retryAfterMs } from '../../src/jobs/retry-after.ts'
import { createSecretBox, SecretUnreadable } from '../../src/jobs/secret-box.ts'
import { isReachable, refuseWebhookUrl } from '../../src/jobs/webhook-address.ts'
import { drawWebhookSecret, signWebhook } from '../../src/jobs/webhook-signature.ts'
import { isGivenUp, judgeWebhook, type WebhookAnswer } from '../../src/jobs/webhook-verdict.ts'

const day = 24 * 60 * 60 * 1_000
const now = Date.UTC(2026, 0, 1)

describe('signatures', () => {
  test('H04: an independent implementation takes them, of every secret, over the exact bytes', () => {
    const secrets = [drawWebhookSecret(), drawWebhookSecret()]
    const body = '{"type":"a.b","data":{"text":"Größe ≠ \\u2028"}}'
    const seconds = Math.floor(Date.now() / 1_000)
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': signWebhook('msg_1', seconds, body, secrets),
    }
    for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
    const other = new Webhook(drawWebhookSecret())
    expect(() => other.verify(body, headers)).toThrow(/no matching signature/i)
    expect(() => new Webhook(secrets[0]!).verify(body.replace('a.b', 'a.c'), headers)).toThrow(/no matching signature/i)
    expect(() => new Webhook(secrets[0]!).verify(body, { ...headers, 'webhook-id': 'msg_2' })).toThrow(
      /no matching signature/i,
    )
  })

  test('H04: a delivery that is played again after ten minutes is refused by its timestamp', () => {
    const secret = drawWebhookSecret()
    const seconds = Math.floor(Date.now() / 1_000) - 600
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(seconds),
      'webhook-signature': signWebhook('msg_1', seconds, '{}', [secret]),
    }
    expect(() => new Webhook(secret).verify('{}', headers)).toThrow(/too old/i)
  })
})

test('a secret opens with its key, for its owner, unaltered; and with nothing else', () => {
  const box = createSecretBox('one key')
  const sealed = box.seal('whsec_abc', 'tenant 1')
  expect(box.open(sealed, 'tenant 1')).toBe('whsec_abc')
  expect(sealed.includes('whsec')).toBe(false)
  expect(box.seal('whsec_abc', 'tenant 1')).not.toEqual(sealed)
  expect(() => box.open(sealed, 'tenant 2')).toThrow(SecretUnreadable)
  expect(() => createSecretBox('another key').open(sealed, 'tenant 1')).toThrow(/another STELLWERK_SECRET_KEY/)
  for (let at = 0; at < sealed.length; at += 1) {
    const altered = Buffer.from(sealed)
    altered[at]! ^= 1
    expect(() => box.open(altered, 'tenant 1'), `byte ${at}`).toThrow(SecretUnreadable)
  }
  expect(() => box.open(Buffer.alloc(0), 'tenant 1')).toThrow(SecretUnreadable)
})

test.each([
  ['7', 7_000],
  ['0', 1_000],
  ['99999999', day],
  [' 7 ', 7_000],
  ['Thu, 01 Jan 2026 00:00:09 GMT', 9_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 1_000],
  ['Fri, 01 Jan 2027 00:00:00 GMT', day],
  ['-7', null],
  ['7.5', null],
  ['1e3', null],
  ['2026-01-01T00:00:09Z', null],
  ['soon', null],
  ['', null],
  [null, null],
] as const)('Retry-After %s is %s ms', (header, ms) => {
  expect(retryAfterMs(header, now)).toBe(ms)
})

describe('H05: what an answer means', () => {
  const answered = (status: number, retryAfter: string | null = null): WebhookAnswer => ({ status, retryAfter })

  test.each([200, 201, 202, 204, 299])('%i is taken', (status) => {
    expect(judgeWebhook(answered(status), 3, now)).toEqual({ outcome: 'delivered' })
  })

  test.each([100, 301, 302, 307, 400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 501, 502, 503, 504, 599])(
    '%i is tried again',
    (status) => {
      expect(judgeWebhook(answered(status), 0, now)).toMatchObject({ outcome: 'failed', asked: false })
    },
  )

  test('410 ends it', () => {
    expect(judgeWebhook(answered(410), 0, now)).toMatchObject({ outcome: 'gone' })
  })

  test('only 429 and 503 may ask for a pause', () => {
    for (const status of [429, 503])
      expect(judgeWebhook(answered(status, '7'), 0, now)).toMatchObject({ pauseMs: 7_000, asked: true })
    expect(judgeWebhook(answered(500, '7'), 0, now)).toMatchObject({ pauseMs: null, asked: false })
    expect(judgeWebhook(answered(503, 'soon'), 0, now)).toMatchObject({ pauseMs: null, asked: false })
  })

  test('a gateway, and whoever cannot be reached, is left alone for longer each time, a minute at most', () => {
    const unreachable = { status: null, fault: 'unreachable', error: 'no' } as const
    for (const answer of [answered(502), answered(504), unreachable]) {
      const pauses = [0, 1, 2, 20, 2_000_000].map((failures) => judgeWebhook(answer, failures, now))
      expect(pauses.map((verdict) => verdict.outcome === 'failed' && verdict.pauseMs)).toEqual([
        250, 500, 1_000, 60_000, 60_000,
      ])
    }
  })

  test('five days and ten failures are given up, one of them is not', () => {
    expect(isGivenUp(10, 5 * day)).toBe(true)
    expect(isGivenUp(9, 50 * day)).toBe(false)
    expect(isGivenUp(1_000, 5 * day - 1)).toBe(false)
  })
})

describe('H01: where webhooks may go', () => {
  const nowhere = { allow: [], strict: false }

  test.each([
    'http://127.0.0.1/',
    'http://127.0.0.1./',
    'http://127.1/',
    'http://0x7f.1/',
    'http://0x7f000001/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0/',
    'http://0.0.0.0/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://192.0.0.8/',
    'http://192.0.2.1/',
    'http://198.18.0.1/',
    'http://203.0.113.1/',
    'http://224.0.0.1/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[64:ff9b:1::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001:0:7f00:1::]/',
    'http://[2001:db8::1]/',
    'http://[fe80::1]/',
    'http://[fec0::1]/',
    'http://[fc00::1]/',
    'http://[fd00:ec2::254]/',
    'http://[ff02::1]/',
    'http://１２７.0.0.1/',
    'http://127。0。0。1/',
  ])('%s is refused', (url) => {
    expect(refuseWebhookUrl(url, nowhere)).toMatch(/not public/)
  })

  test.each([
    'ftp://example.org',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'example.org',
    '',
    'http://',
    'https://a b/',
  ])('%s is no URL for a webhook', (url) => {
    expect(refuseWebhookUrl(url, nowhere)).toMatch(/no https/)
  })

  test('public addresses and names are taken; users, passwords and long ones are not', () => {
    for (const url of ['https://example.org/hook?x=1', 'http://1.1.1.1:8080/', 'http://[2606:4700::1111]/'])
      expect(refuseWebhookUrl(url, nowhere)).toBeNull()
    expect(refuseWebhookUrl('https://user@example.org/', nowhere)).toMatch(/user or password/)
    expect(refuseWebhookUrl('https://:secret@example.org/', nowhere)).toMatch(/user or password/)
    expect(refuseWebhookUrl(`https://example.org/${'x'.repeat(2_000)}`, nowhere)).toMatch(/2,000/)
  })

  test('production wants https and the ports 443 and 8443', () => {
    const strict = { allow: ['127.0.0.0/8'], strict: true }
    expect(refuseWebhookUrl('http://example.org/', strict)).toMatch(/https/)
    expect(refuseWebhookUrl('https://example.org:22/', strict)).toMatch(/port/)
    for (const url of [
      'https://example.org/',
      'https://example.org:443/',
      'https://example.org:8443/',
      'https://127.0.0.1/',
    ])
      expect(refuseWebhookUrl(url, strict)).toBeNull()
  })

  test('an allowed range opens itself and nothing beside it', () => {
    const allow = ['127.0.0.0/8', '10.1.2.3', 'fd00::/8']
    for (const address of ['127.0.0.1', '127.255.0.1', '::ffff:127.0.0.1', '10.1.2.3', 'fd12::1', '1.1.1.1'])
      expect(isReachable(address, { allow }), address).toBe(true)
    for (const address of ['10.1.2.4', '::1', 'fc00::1', '169.254.169.254', '64:ff9b::7f00:1', 'no address', ''])
      expect(isReachable(address, { allow }), address).toBe(false)
  })
})

test('event types and what endpoints may want', () => {
  for (const type of ['entity.updated', 'a', 'A_b-c.d:e/f', 'x'.repeat(128)]) expect(isEventType(type)).toBe(true)
  for (const type of ['', '*', '.a', 'a b', 'a\n', 'ä', 'x'.repeat(129)]) expect(isEventType(type)).toBe(false)
  for (const pattern of ['*', 'entity.updated', 'entity.*']) expect(isEventPattern(pattern)).toBe(true)
  for (const pattern of ['**', '.*', 'entity*', '*.updated', '']) expect(isEventPattern(pattern)).toBe(false)
})
