import { simpleParser } from 'mailparser'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enqueue } from '../../src/sql/enqueue.ts'
import { testApi, type TestApi } from '../api/support.ts'
import { startSmtpScript, type SmtpScript } from '../support/smtp-script.ts'
import { startWorkers, type Workers } from './support.ts'

let api: TestApi
let smtp: SmtpScript
let workers: Workers

beforeAll(async () => {
  api = await testApi()
  await api.sql(`update mdm.aa_tenant set metadata = '{"rate_limit": {"email_send": {"rps": 10000, "burst": 10000}}}'`)
  smtp = await startSmtpScript()
  workers = await startWorkers(api, {
    env: { SMTP_URL: smtp.url, STELLWERK_MAIL_FROM: 'Stellwerk <post@example.org>' },
  })
})
afterAll(async () => {
  await workers?.stop()
  await smtp?.stop()
  await api?.stop()
})

const mail = (more: object = {}) => ({
  to: { address: 'ada@example.org' },
  content: { subject: 'Hello', text: 'Text.' },
  ...more,
})
const local = (length: number) => 'a'.repeat(length)
/** An address of exactly so many characters whose labels are as long as they may be. */
const ofLength = (length: number): string => {
  const labels = `${'d'.repeat(63)}.`.repeat(10)
  return `${local(64)}@${labels.slice(0, length - 64 - 1 - 4)}.org`.replace('..org', 'd.org')
}

const breaks = ['\r\n', '\r', '\n', '\u2028', '\u2029', '\u0085', '\v', '\f', '\u001b']
const badAddresses: readonly string[] = [
  // Another command, header or body after a line break, wherever a parser may see one.
  ...breaks.flatMap((end) => [
    `ada@example.org${end}Bcc: eve@example.net`,
    `ada${end}@example.org`,
    `${end}ada@example.org`,
    `ada@example.org${end}`,
  ]),
  'ada@example.org>\r\nRCPT TO:<eve@example.net',
  // Further recipients.
  'ada@example.org, eve@example.net',
  'ada@example.org;eve@example.net',
  'ada@example.org eve@example.net',
  'ada@example.org@example.net',
  'ada@example.org%eve@example.net@',
  'team: ada@example.org, eve@example.net;',
  'undisclosed-recipients:;',
  // What parsers read in their own ways: display names, angle brackets, source routes.
  'Ada <ada@example.org>',
  '<ada@example.org>',
  'ada@example.org>',
  'ada@example.org> NOTIFY=SUCCESS',
  '<@relay.example.net:ada@example.org>',
  '@relay.example.net:ada@example.org',
  // Quoted local parts and comments.
  '"ada"@example.org',
  '"ada b"@example.org',
  '"eve@example.net> "@example.org',
  '"ada\\"@example.net"@example.org',
  'ada(eve@example.net)@example.org',
  'ada@example.org(eve@example.net)',
  '(eve@example.net)ada@example.org',
  // Encoded words are no addresses.
  '=?utf-8?q?ada=40example.org=2C?= <eve@example.net>',
  '=?utf-8?q?ada?=@example.org,',
  // Letters that look like others, or become them (the address comes in its xn-- form).
  'ada@exämple.org',
  'äda@example.org',
  'ada@example。org',
  'ada＠example.org',
  'ada@example.org\u200b',
  'ada@\u202egro.elpmaxe',
  // Literals and names that are none.
  'ada@[127.0.0.1]',
  'ada@[IPv6:::1]',
  'ada@127.0.0.1',
  'ada@-example.org',
  'ada@example-.org',
  'ada@example..org',
  'ada@.example.org',
  'ada@example.org.',
  'ada@example_a.org',
  '.ada@example.org',
  'ada.@example.org',
  'ada..b@example.org',
  'ada',
  'ada@',
  '@example.org',
  '',
  ' ',
  // Too long.
  `${local(65)}@example.org`,
  `ada@${'d'.repeat(64)}.org`,
  ofLength(255),
  ofLength(320),
  `${local(5_000)}@example.org`,
  `ada@${'a.'.repeat(20_000)}org`,
]

const goodAddresses: readonly string[] = [
  'ada@example.org',
  "o'hara+news/de=1@sub.example.org",
  '!#$%&*{|}~^`?_-@example.org',
  'Ada.Lovelace@EXAMPLE.org',
  'ada@xn--exmple-cua.org',
  '=?utf-8?q?ada?=@example.org',
  'rcpt+to@example.org',
  `${local(64)}@example.org`,
  ofLength(254),
]

/** Where a text stands that no mail program may read as more than that. */
const badTexts: readonly [string, object][] = [...breaks, '\r\n\r\n', '\r\n.\r\n'].flatMap((end) => [
  [`name ${JSON.stringify(end)}`, { to: { address: 'ada@example.org', name: `Ada${end}Bcc: eve@example.net` } }],
  [`reply_to ${JSON.stringify(end)}`, { reply_to: { address: `a@example.org${end}Bcc: eve@example.net` } }],
  [`reply_to name ${JSON.stringify(end)}`, { reply_to: { address: 'a@example.org', name: `A${end}Bcc: e@x.net` } }],
  [`subject ${JSON.stringify(end)}`, { content: { subject: `Hello${end}Bcc: eve@example.net`, text: 'Text.' } }],
  [`header ${JSON.stringify(end)}`, { headers: { 'X-Note': `a${end}Bcc: eve@example.net` } }],
  [`header name ${JSON.stringify(end)}`, { headers: { [`X-Note: a${end}Bcc`]: 'eve@example.net' } }],
])
const badHeaderNames = [
  'Bcc',
  'bcc',
  'To',
  'Subject',
  'From',
  'Sender',
  'Return-Path',
  'DKIM-Signature',
  'X',
  'X-',
  'X-A:',
  'X-A B',
  'X-Ä',
  'x-a\t',
  ' X-A',
  `X-${'a'.repeat(71)}`,
]
const badFields: readonly [string, object][] = [
  ...badHeaderNames.map((name): [string, object] => [
    `a header named ${JSON.stringify(name)}`,
    { headers: { [name]: 'eve@example.net' } },
  ]),
  ['a header value that is no text', { headers: { 'X-A': { prepared: true, value: 'a\r\nBcc: eve@example.net' } } }],
  ['a header value that is a list', { headers: { 'X-A': ['a', 'b'] } }],
  ['21 headers', { headers: Object.fromEntries(Array.from({ length: 21 }, (_, nth) => [`X-${nth}`, 'a'])) }],
]
/** What GraphQL's own types refuse before anybody looks. */
const unknownFields: readonly [string, object][] = [
  ['bcc', { bcc: { address: 'eve@example.net' } }],
  ['an envelope', { envelope: { from: 'a@example.org', to: ['eve@example.net'] } }],
  ['a raw message', { raw: 'Bcc: eve@example.net' }],
  ['alternatives', { alternatives: [{ path: '/etc/passwd' }] }],
  ['attachments by path', { attachments: [{ path: '/etc/passwd' }] }],
  ['several recipients', { to: [{ address: 'ada@example.org' }, { address: 'eve@example.net' }] }],
  ['a recipient with more', { to: { address: 'ada@example.org', group: [{ address: 'eve@example.net' }] } }],
  ['a text by path', { content: { subject: 'Hello', text: { path: '/etc/passwd' } } }],
]

const addressCases = badAddresses.map((address): [string, object] => [
  JSON.stringify(address).slice(0, 90),
  { to: { address } },
])
const refusedCases = [...addressCases, ...badTexts, ...badFields]

describe('M03: at the door', () => {
  const mutation = `mutation M($email: EmailSendInput!) { enqueueJob(input: { job: { emailSend: $email } }) {
    job { id } errors { code path } } }`

  test.each(refusedCases)('GraphQL refuses %s', async (_, more) => {
    const { reply_to: replyTo, ...email } = mail(more) as Record<string, unknown>
    const { data, errors } = await api.run(mutation, { email: { ...email, ...(replyTo !== undefined && { replyTo }) } })
    expect(errors).toEqual([])
    expect(data.enqueueJob.job).toBeNull()
    expect(data.enqueueJob.errors).not.toEqual([])
  })

  test.each(unknownFields)('GraphQL does not know %s', async (_, more) => {
    const { errors } = await api.run(mutation, { email: mail(more) })
    expect(errors).not.toEqual([])
  })

  test.each([...refusedCases, ...unknownFields])('enqueue in the own transaction refuses %s', async (_, more) => {
    await expect(enqueue(api.pool, { kind: 'email_send', payload: mail(more) })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    })
  })

  test.each([
    ['NUL in the address', { to: { address: 'ada\0@example.org' } }],
    ['NUL in the name', { to: { address: 'ada@example.org', name: 'A\0' } }],
    ['NUL in the subject', { content: { subject: 'A\0', text: 'Text.' } }],
    ['NUL in a header', { headers: { 'X-A': 'a\0' } }],
    ['NUL in the text', { content: { subject: 'Hello', text: 'a\0' } }],
  ])('%s is refused at every door', async (_, more) => {
    const { data } = await api.run(mutation, { email: mail(more) })
    expect(data?.enqueueJob?.job ?? null).toBeNull()
    await expect(enqueue(api.pool, { kind: 'email_send', payload: mail(more) })).rejects.toThrow('NUL')
    await expect(api.sql(`select mdm.enqueue_job('email_send', $1)`, [JSON.stringify(mail(more))])).rejects.toThrow(
      'unsupported Unicode escape sequence',
    )
  })
})

describe('M03: on the wire', () => {
  test('what plain SQL let in, where no schema is checked, goes to the DLQ at the first start without a connection', async () => {
    const before = { lines: smtp.lines.length, connections: smtp.connections }
    const cases = [...refusedCases, ...unknownFields]
    const rows = await api.sql<{ id: string }>(
      `select e.job_id as id from jsonb_array_elements($1::jsonb) p, lateral mdm.enqueue_job('email_send', p) e`,
      [JSON.stringify(cases.map(([, more]) => mail(more)))],
    )
    expect(rows).toHaveLength(cases.length)
    for (const [index, { id }] of rows.entries()) {
      const job = await workers.reached(id, 'dlq')
      expect(job, cases[index]![0]).toMatchObject({
        attempts: 1,
        lastError: expect.stringMatching(/^PayloadInvalid: payload\//),
      })
      expect(job.lastError).not.toContain('eve@example.net')
    }
    expect({ lines: smtp.lines.length, connections: smtp.connections }).toEqual(before)
    expect(await api.sql('select 1 from mdm.aa_email_log')).toEqual([])
  })

  test.each(goodAddresses.map((address) => [address]))('the one recipient is %s, to the letter', async (address) => {
    const id = await workers.enqueue({ kind: 'email_send', payload: mail({ to: { address } }) })
    await workers.reached(id, 'done')
    // Only the domain may change its case.
    const [name, domain] = address.split(/@(?=[^@]*$)/)
    expect(smtp.lines.filter((line) => /^RCPT/i.test(line)).at(-1)).toMatch(/^RCPT TO:<[^<>\s]+>$/)
    expect([address, `${name}@${domain!.toLowerCase()}`]).toContain(smtp.mails.at(-1)!.to)
    const { to, cc, bcc } = await simpleParser(smtp.mails.at(-1)!.raw)
    expect([to, cc, bcc].flat().filter((list) => list !== undefined)).toHaveLength(1)
  })

  test.each([
    'Ada, Eve <eve@example.net>',
    'Ada" <eve@example.net>, "',
    "Ada\\' <eve@example.net>",
    '(Ada) <eve@example.net>;',
    'Team: Ada <eve@example.net>;',
    '=?utf-8?q?Ada=0D=0ABcc=3A_eve=40example.net?=',
    '=?utf-8?b?QWRhDQpCY2M6IGV2ZUBleGFtcGxlLm5ldA==?=',
    'Ädä 日本 \u{1f600}',
    'Ada <eve@example.net> \u202e',
    'A'.repeat(200),
    'Ä'.repeat(200),
  ])('the name, subject and header %j stay one text each, and add no recipient and no header', async (text) => {
    const payload = mail({
      to: { address: 'ada@example.org', name: text },
      reply_to: { address: 'answers@example.org', name: text },
      content: { subject: text, text: `${text}\r\n.\r\nRCPT TO:<eve@example.net>\r\n..\r\n` },
      headers: { 'X-Note': text },
    })
    const before = smtp.lines.length
    await workers.reached(await workers.enqueue({ kind: 'email_send', payload }), 'done')
    const commands = smtp.lines.slice(before).filter((line) => /^(MAIL|RCPT|DATA)/i.test(line))
    expect(commands.map((line) => line.split(' SIZE')[0])).toEqual([
      expect.stringMatching(/^MAIL FROM:<post@example\.org>/),
      'RCPT TO:<ada@example.org>',
      'DATA',
    ])
    const { raw } = smtp.mails.at(-1)!
    const [head] = raw.split('\r\n\r\n')
    expect(
      head!
        .split(/\r\n(?![ \t])/)
        .map((line) => line.split(':')[0]!.toLowerCase())
        .toSorted(),
    ).toEqual([
      'content-transfer-encoding',
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'reply-to',
      'subject',
      'to',
      'x-note',
    ])
    // No line is longer than a server has to take (RFC 5321, 4.5.3.1.6), none ends in a bare CR or LF.
    expect(Math.max(...raw.split('\r\n').map((line) => Buffer.byteLength(line)))).toBeLessThanOrEqual(998)
    expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
    const { to, replyTo } = await simpleParser(raw)
    expect([to, replyTo].flat().flatMap((list) => list!.value.map(({ address }) => address))).toEqual([
      'ada@example.org',
      'answers@example.org',
    ])
  })

  test('a header named __proto__ is left out, wherever it comes from', async () => {
    const headers: unknown = JSON.parse('{"__proto__": {"Bcc": "eve@example.net"}, "X-A": "a"}')
    const payload = mail({ headers })
    await workers.reached(await workers.enqueue({ kind: 'email_send', payload }), 'done')
    const { raw } = smtp.mails.at(-1)!
    expect(raw).toMatch(/^X-A: a\r$/m)
    expect(raw).not.toMatch(/proto|bcc|eve/i)
  })

  test.each([...breaks, '\r\n\r\n', '\r\n.\r\n'])(
    'a variable with %j in the subject of a template adds no header',
    async (end) => {
      const variables = { name: `Ada${end}Bcc: eve@example.net${end}Content-Type: text/html` }
      const payload = { to: { address: 'ada@example.org' }, template: { key: 'welcome', variables } }
      await workers.reached(await workers.enqueue({ kind: 'email_send', payload }), 'done')
      const { raw, to } = smtp.mails.at(-1)!
      expect(to).toBe('ada@example.org')
      const parsed = await simpleParser(raw)
      expect(parsed.bcc).toBeUndefined()
      expect(parsed.subject).toMatch(/^Welcome, Ada/)
      const [head] = raw.split('\r\n\r\n')
      expect(head!.match(/^(bcc|content-type):/gim)).toEqual(['Content-Type:'])
      expect(head).not.toMatch(/[\u2028\u2029\u0085\v\f]/)
    },
  )
})

test('M03: the mail library is not older than the one whose folding was tried', async () => {
  const { default: library } = (await import('nodemailer/package.json', { with: { type: 'json' } })) as {
    default: { version: string }
  }
  const [major, minor] = library.version.split('.').map(Number)
  expect(major! * 1_000 + minor!).toBeGreaterThanOrEqual(10_006)
})
