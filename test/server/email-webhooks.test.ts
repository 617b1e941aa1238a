import { createHmac } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { receiveEmailReports } from '../../src/resolvers/receive-email-reports.ts'
import { createEmailWebhooks } from '../../src/server/email-webhooks.ts'
import { createMaskError } from '../../src/server/mask-errors.ts'
import { createRouter } from '../../src/server/router.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { certificate, signedSns } from './sns-signer.ts'

const secret = 'secret of the webhook'
let database: TestDatabase
let server: Server
let url: string
/** What was asked of SNS. */
let fetched: string[]

beforeAll(async () => {
  database = await testDatabase()
  const routes = createEmailWebhooks({
    secret,
    topics: ['arn:aws:sns:eu-west-1:123456789012:bounces'],
    receive: (provider, reports) => receiveEmailReports(database.pool, provider, reports),
    fetchText: async (from) => {
      fetched.push(from)
      return certificate
    },
  })
  server = createServer(
    createRouter({ routes, maskError: createMaskError({ suggestions: false, onUnforeseen: () => undefined }) }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server?.close()
  await database?.drop()
})

beforeEach(async () => {
  fetched = []
  await database.sql('delete from mdm.aa_email_suppression')
  await database.sql('delete from mdm.aa_email_log')
  await database.sql(
    `insert into mdm.aa_email_log (tenant_id, job_id, status, message_id, provider, provider_message_id, to_address)
     select id, mdm.uuid_v7(), 'sent', '<job.1@example.org>', p, 'id-1', 'Ada@example.org' from mdm.aa_tenant, (values ('smtp')) v(p) where tenant_key = 'default'
     union all select id, mdm.uuid_v7(), 'sent', '<job.2@example.org>', 'ses', '0100-1', 'bob@example.org' from mdm.aa_tenant where tenant_key = 'default'`,
  )
})

const status = async (provider: string) =>
  (await database.sql<{ status: string }>('select status from mdm.aa_email_log where provider = $1', [provider]))[0]!
    .status
const suppressed = () => database.sql('select address, reason, created_by, detail from mdm.aa_email_suppression')
const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(url + path, { method: 'POST', body, headers })
  return { status: answer.status, body: (await answer.json()) as { matched?: number; errors?: { message: string }[] } }
}

describe('the generic form', () => {
  const sign = (body: string, time = Math.floor(Date.now() / 1_000), key = secret) =>
    `t=${time},v1=${createHmac('sha256', key).update(`${time}.${body}`).digest('hex')}`
  const report = (...events: object[]) => {
    const body = JSON.stringify({ events })
    return post('/webhooks/email/smtp', body, { 'x-stellwerk-signature': sign(body) })
  }

  test('a permanent bounce goes into the log and on the suppression list, once', async () => {
    const bounce = { id: 'id-1', type: 'bounced', detail: '550 5.1.1 gone' }
    expect(await report(bounce)).toEqual({ status: 200, body: { matched: 1 } })
    expect(await report(bounce)).toEqual({ status: 200, body: { matched: 1 } })
    expect(await status('smtp')).toBe('bounced')
    expect(await suppressed()).toEqual([
      { address: 'ada@example.org', reason: 'bounce', created_by: 'system:email_report', detail: '550 5.1.1 gone' },
    ])
    expect(await database.sql(`select 1 from mdm.aa_audit_log where action = 'suppression_add'`)).toHaveLength(1)
  })

  test('a mail is found by our Message-ID as well', async () => {
    expect((await report({ id: '<job.1@example.org>', type: 'delivered' })).body).toEqual({ matched: 1 })
    expect(await status('smtp')).toBe('delivered')
    expect(await suppressed()).toEqual([])
  })

  test('what passes by itself changes nothing', async () => {
    expect((await report({ id: 'id-1', type: 'bounced', permanent: false })).status).toBe(200)
    expect(await status('smtp')).toBe('sent')
    expect(await suppressed()).toEqual([])
  })

  test('reports in any order and in one call end with the gravest', async () => {
    await report({ id: 'id-1', type: 'complained' }, { id: 'id-1', type: 'delivered' })
    await report({ id: 'id-1', type: 'bounced' }, { id: 'nobody', type: 'bounced' })
    expect(await status('smtp')).toBe('complained')
    expect(await suppressed()).toMatchObject([{ reason: 'complaint' }])
  })

  const body = JSON.stringify({ events: [{ id: 'id-1', type: 'bounced' }] })
  test.each([
    ['without a signature', {}],
    ['with a signature of another key', { 'x-stellwerk-signature': sign(body, undefined, 'other') }],
    ['with a signature of another body', { 'x-stellwerk-signature': sign(`${body} `) }],
    ['with an old signature', { 'x-stellwerk-signature': sign(body, Math.floor(Date.now() / 1_000) - 301) }],
    ['with half a signature', { 'x-stellwerk-signature': sign(body).slice(0, -1) }],
  ])('%s nothing is believed', async (_, headers) => {
    expect((await post('/webhooks/email/smtp', body, headers)).status).toBe(401)
    expect(await status('smtp')).toBe('sent')
  })

  test.each([
    '',
    '[]',
    '{"events": []}',
    '{"events": [{"id": "a", "type": "opened"}]}',
    '{"events": [{"id": "a", "type": "bounced", "to": "x"}]}',
  ])('%j is refused', async (bad) => {
    expect((await post('/webhooks/email/smtp', bad, { 'x-stellwerk-signature': sign(bad) })).status).toBe(400)
  })
})

describe('Amazon SES by SNS', () => {
  const notify = (event: object, fields: Record<string, string> = {}, version: '1' | '2' = '2') =>
    post('/webhooks/email/ses', JSON.stringify(signedSns({ Message: JSON.stringify(event), ...fields }, version)))
  const mail = { messageId: '0100-1' }
  const bounce = {
    notificationType: 'Bounce',
    mail,
    bounce: {
      bounceType: 'Permanent',
      bouncedRecipients: [{ emailAddress: 'bob@example.org', diagnosticCode: 'smtp; 550 5.1.1' }],
    },
  }

  test.each(['1', '2'] as const)('a bounce signed in version %s is believed', async (version) => {
    expect(await notify(bounce, {}, version)).toEqual({ status: 200, body: { matched: 1 } })
    expect(await status('ses')).toBe('bounced')
    expect(await suppressed()).toMatchObject([
      { address: 'bob@example.org', reason: 'bounce', detail: 'smtp; 550 5.1.1' },
    ])
  })

  test.each([
    [{ ...bounce, bounce: { ...bounce.bounce, bounceType: 'Transient' } }, 'sent', 0],
    [{ eventType: 'Complaint', mail, complaint: { complaintFeedbackType: 'abuse' } }, 'complained', 1],
    [{ eventType: 'Complaint', mail, complaint: { complaintFeedbackType: 'not-spam' } }, 'sent', 0],
    [{ eventType: 'Delivery', mail, delivery: {} }, 'delivered', 0],
    [{ eventType: 'Open', mail }, 'sent', 0],
  ])('%j leaves the mail as it should', async (event, expected, suppressions) => {
    expect((await notify(event)).status).toBe(200)
    expect(await status('ses')).toBe(expected)
    expect(await suppressed()).toHaveLength(suppressions)
  })

  test('the certificate is asked for once', async () => {
    await notify(bounce, { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/once.pem' })
    await notify(bounce, { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/once.pem' })
    expect(fetched).toEqual(['https://sns.eu-west-1.amazonaws.com/once.pem'])
  })

  test('a subscription to a topic of ours is confirmed', async () => {
    const SubscribeURL = 'https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription'
    const fields = {
      Type: 'SubscriptionConfirmation',
      Message: 'You have chosen to subscribe',
      Token: 'abc',
      SubscribeURL,
    }
    expect((await post('/webhooks/email/ses', JSON.stringify(signedSns(fields)))).status).toBe(200)
    expect(fetched).toContain(SubscribeURL)
  })

  test.each([
    { TopicArn: 'arn:aws:sns:eu-west-1:999999999999:bounces' },
    { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com.evil.org/x.pem' },
    { SigningCertURL: 'http://sns.eu-west-1.amazonaws.com/x.pem' },
    { SigningCertURL: 'https://evil.org/x.pem' },
    { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com/x.html' },
    { SigningCertURL: 'https://sns.eu-west-1.amazonaws.com@evil.org/x.pem' },
  ])('%j is not believed, and nobody else is asked', async (fields) => {
    expect((await notify(bounce, fields)).status).toBe(401)
    expect(fetched).toEqual([])
    expect(await status('ses')).toBe('sent')
  })

  test('what was changed on the way is not believed', async () => {
    const sns = signedSns({ Message: JSON.stringify(bounce) })
    const changed = { ...sns, Message: sns['Message']!.replace('0100-1', '0100-2') }
    expect((await post('/webhooks/email/ses', JSON.stringify(changed))).status).toBe(401)
    expect((await post('/webhooks/email/ses', JSON.stringify({ ...sns, SignatureVersion: '1' }))).status).toBe(401)
  })

  test('what is no message of SNS is refused', async () => {
    expect((await post('/webhooks/email/ses', '{"a": 1}')).status).toBe(400)
    expect((await post('/webhooks/email/ses', 'x'.repeat(1024 * 1024 + 1))).status).toBe(413)
  })
})

test('without secret and topics nothing is served', () => {
  expect(createEmailWebhooks({ secret: null, topics: [], receive: async () => 0 })).toEqual({})
})
