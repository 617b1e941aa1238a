import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startSmtpScript, type SmtpScript, type SmtpStage } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'
import { startWorkers, type Workers } from './support.ts'

const limits = `update mdm.aa_tenant set metadata = '{"rate_limit": {"email_send": {"rps": 10000, "burst": 10000}}}'`
// The first retry is far away: what an attempt left behind can be looked at.
const patient = { STELLWERK_KIND_EMAIL_SEND: '{"backoff": {"baseMs": 60000, "maxMs": 60000, "jitter": 0}}' }
let count = 0
const mail = (more: object = {}) => ({
  kind: 'email_send',
  payload: {
    to: { address: `ada${(count += 1)}@example.org` },
    content: { subject: 'Hello', text: 'Text.' },
    ...more,
  },
})

/** What the attempt left: the job, its line in the log, and whether its recipient is suppressed. */
async function outcomeOf(database: TestDatabase, id: string) {
  await until(
    async () =>
      (
        await database.sql(
          `select from mdm.aa_job j join mdm.aa_email_log l on l.job_id = j.id
            where j.id = $1 and j.status <> 'running' and l.status <> 'sending'`,
          [id],
        )
      ).length,
    'the job was tried',
  )
  const [row] = await database.sql(
    `select j.status, j.attempts, l.status as log, l.smtp_code as code, l.enhanced_code as enhanced,
            exists (select from mdm.aa_email_suppression s where s.address = l.to_address) as suppressed
       from mdm.aa_job j join mdm.aa_email_log l on l.job_id = j.id where j.id = $1`,
    [id],
  )
  return row
}

describe('M02: on the wire', () => {
  let database: TestDatabase
  let smtp: SmtpScript
  let workers: Workers

  beforeAll(async () => {
    database = await testDatabase()
    await database.sql(limits)
    smtp = await startSmtpScript()
    workers = await startWorkers(database, { env: { SMTP_URL: smtp.url, ...patient } })
  })
  afterAll(async () => {
    await workers?.stop()
    await smtp?.stop()
    await database?.drop()
  })
  afterEach(() => {
    smtp.answer = () => undefined
    smtp.cut()
  })

  const transient = { status: 'pending', attempts: 1, log: 'failed', suppressed: false }
  const recipient = { status: 'dlq', attempts: 1, log: 'rejected', suppressed: true }
  const message = { status: 'dlq', attempts: 1, log: 'rejected', suppressed: false }

  test.each<[SmtpStage, string, typeof transient]>([
    ['rcpt', '421 4.3.2 going down', transient],
    ['rcpt', '450 4.2.0 greylisted, try again later', transient],
    ['rcpt', '451 4.7.1 greylisted', transient],
    ['rcpt', '452 4.2.2 over quota', transient],
    ['rcpt', '452 too many recipients', transient],
    ['rcpt', '552 5.2.2 mailbox full', transient],
    ['rcpt', '550 5.2.2 mailbox full', transient],
    ['rcpt', '552 mailbox full', transient],
    ['rcpt', '550 5.3.1 system full', transient],
    ['rcpt', '550 5.4.5 daily limit', transient],
    ['rcpt', '550 5.5.3 too many recipients', transient],
    ['dot', '451 4.3.0 try later', transient],
    ['rcpt', '550 5.1.1 no such user', recipient],
    ['rcpt', '551 5.1.6 has moved', recipient],
    ['rcpt', '553 5.1.3 bad address', recipient],
    ['rcpt', '554 5.1.2 no such host', recipient],
    ['rcpt', '550 5.2.1 mailbox disabled', recipient],
    ['rcpt', '556 5.1.10 null MX', recipient],
    ['dot', '550 5.1.1 no such user', recipient],
    ['rcpt', '550 5.7.1 policy', message],
    ['rcpt', '550 no', message],
    ['dot', '554 5.7.1 looks like spam', message],
    ['dot', '554 5.6.0 bad content', message],
    ['rcpt', '501 5.5.4 syntax', message],
    ['mail', '550 5.1.1 sender unknown', message],
    ['mail', '553 5.1.8 bad sender', message],
  ])('at %s: %s', async (stage, answer, expected) => {
    smtp.answer = (at) => (at === stage ? answer : undefined)
    const id = await workers.enqueue(mail())
    const enhanced = /^\d+ (\d\.\d+\.\d+)/.exec(answer)?.[1] ?? null
    expect(await outcomeOf(database, id)).toEqual({ ...expected, code: Number(answer.slice(0, 3)), enhanced })
    expect(workers.events.filter(({ type }) => type.startsWith('provider:'))).toEqual([])
  })
})

describe('M02: a fault of the provider costs no attempt, suppresses nobody and pauses the kind', () => {
  const waits = { status: 'pending', attempts: 0, log: 'failed', suppressed: false }

  test.each<[SmtpStage, string]>([
    ['greeting', '554 5.7.1 not you'],
    ['auth', '535 5.7.8 bad credentials'],
    ['auth', '534 5.7.9 mechanism too weak'],
    ['auth', '538 5.7.11 encryption required'],
    ['auth', '454 4.7.0 temporary authentication failure'],
    ['mail', '530 5.7.0 authentication required'],
  ])('at %s: %s', async (stage, answer) => {
    const smtp = await startSmtpScript()
    smtp.answer = (at) => (at === stage ? answer : undefined)
    await expectPause(smtp.url.replace('//', '//user:word@'), smtp.stop)
  })

  test('a name that does not resolve', () => expectPause('smtp://provider.invalid', () => Promise.resolve()))

  test('a server that does not greet as one', async () => {
    const smtp = await startSmtpScript()
    smtp.answer = (at) => (at === 'greeting' ? 'drop' : undefined)
    await expectPause(smtp.url, smtp.stop)
  })

  async function expectPause(url: string, stop: () => Promise<void>): Promise<void> {
    const database = await testDatabase()
    const workers = await startWorkers(database, { env: { SMTP_URL: url, ...patient } })
    try {
      const id = await workers.enqueue(mail())
      expect(await outcomeOf(database, id)).toMatchObject(waits)
      expect(workers.events.filter(({ type }) => type === 'provider:out')).toHaveLength(1)
      await until(
        async () => (await database.sql('select 1 from mdm.aa_queue_pause where until is not null')).length,
        'the kind is paused',
      )
    } finally {
      await workers.stop()
      await stop()
      await database.drop()
    }
  }
})
