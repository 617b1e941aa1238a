import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inTransaction } from '../../src/db/transaction.ts'
import { emailSendPayload } from '../../src/jobs/email-send-payload.ts'
import { enqueue } from '../../src/sql/enqueue.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startSmtpScript, type SmtpAnswer, type SmtpScript, type SmtpStage } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'
import { startWorkers, type Workers } from './support.ts'

let database: TestDatabase
let smtp: SmtpScript
let workers: Workers
let mails = 0
let count = 0

beforeAll(async () => {
  database = await testDatabase()
  await database.sql(
    `update mdm.aa_tenant set metadata = '{"rate_limit": {"email_send": {"rps": 10000, "burst": 10000}}}'`,
  )
  smtp = await startSmtpScript()
  workers = await startWorkers(database, {
    env: {
      SMTP_URL: smtp.url,
      STELLWERK_MAIL_FROM: 'Stellwerk <post@example.org>',
      STELLWERK_MAIL_SENDERS: '{"billing": "Billing <billing@example.org>"}',
      STELLWERK_KIND_EMAIL_SEND: '{"maxAttempts": 4, "backoff": {"baseMs": 100, "maxMs": 1000, "jitter": 0.1}}',
    },
  })
})

afterAll(async () => {
  await workers?.stop()
  await smtp?.stop()
  await database?.drop()
})

beforeEach(() => {
  mails = smtp.mails.length
})

afterEach(() => {
  smtp.answer = () => undefined
})

/** An address that no other test uses. */
const address = (): string => `ada${(count += 1)}@example.org`
const mailTo = (to: string, more: object = {}) => ({
  kind: 'email_send',
  payload: { to: { address: to }, content: { subject: 'Hello', text: 'Text.' }, ...more },
})
const log = async (jobId: string) => {
  const [row] = await database.sql('select * from mdm.aa_email_log where job_id = $1', [jobId])
  return row!
}
const journal = async (jobId: string) => {
  const rows = await database.sql<{ action: string }>(
    'select action from mdm.aa_audit_log where job_id = $1 order by id',
    [jobId],
  )
  return rows.map(({ action }) => action)
}
/** What was handed over since the test began. */
const handed = () => smtp.mails.slice(mails)
const messageIds = () => handed().map(({ raw }) => /^Message-ID: (.*)$/im.exec(raw)?.[1])

describe('acceptance', () => {
  test('KINDS 2.1: the job exists if and only if the business transaction commits, and sends exactly one mail', async () => {
    const to = address()
    const lost = await inTransaction(database.pool, async (tx) => {
      const { jobId } = await enqueue(tx, mailTo(to))
      throw Object.assign(new Error('rolled back'), { jobId })
    }).catch((error: Error & { jobId: string }) => error.jobId)
    const { jobId } = await inTransaction(database.pool, (tx) => enqueue(tx, mailTo(to)))

    await workers.reached(jobId, 'done')
    expect(await workers.job(lost)).toBeUndefined()
    expect(handed()).toMatchObject([{ to, from: 'post@example.org', taken: true }])
    expect(await log(jobId)).toMatchObject({
      status: 'sent',
      attempts: 1,
      unanswered: 0,
      message_id: `<job.${jobId}@example.org>`,
    })
    expect(await journal(jobId)).toEqual(expect.arrayContaining(['job_enqueued', 'email_sent', 'job_done']))
  })

  test('KINDS 2.2: a backend killed between the answer and the commit costs no second mail', async () => {
    smtp.answer = async (stage) => {
      if (stage === 'dot') {
        await database.sql(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name ~ 'stellwerk (claim|commit|settle)'`,
        )
      }
      return undefined
    }
    const id = await workers.enqueue(mailTo(address()))
    await workers.reached(id, 'done', 20_000)
    expect(handed()).toHaveLength(1)
    expect(await log(id)).toMatchObject({ status: 'sent' })
  })

  test('KINDS 2.4: refused twice for now, then taken: three attempts, each later than the backoff before it', async () => {
    const to = address()
    let refusals = 2
    smtp.answer = (stage) => (stage === 'rcpt' && refusals-- > 0 ? '450 4.2.0 greylisted' : undefined)
    const id = await workers.enqueue(mailTo(to))
    const job = await workers.reached(id, 'done')
    expect(job.attempts).toBe(3)
    const waits = await database.sql<{ ms: number }>(
      `select extract(epoch from (payload ->> 'available_at')::timestamptz - at)::float8 * 1000 as ms
         from mdm.aa_audit_log where job_id = $1 and action = 'job_retry' order by id`,
      [id],
    )
    expect(waits).toHaveLength(2)
    waits.forEach(({ ms }, index) => {
      expect(ms).toBeGreaterThanOrEqual(100 * 2 ** index - 1)
      expect(ms).toBeLessThanOrEqual(110 * 2 ** index + 1)
    })
    expect(await log(id)).toMatchObject({ status: 'sent', attempts: 3, last_error: null })
  })

  test('KINDS 2.4: an unknown recipient goes to the DLQ at once, and the next mail to it nowhere', async () => {
    const to = address()
    smtp.answer = (stage) => (stage === 'rcpt' ? `550 5.1.1 <${to}> no such user` : undefined)
    const id = await workers.enqueue(mailTo(to))
    const job = await workers.reached(id, 'dlq')
    expect(job.attempts).toBe(1)
    expect(job.lastError).toContain('550 5.1.1')
    expect(job.lastError).not.toContain(to)
    expect(await log(id)).toMatchObject({ status: 'rejected', smtp_code: 550, enhanced_code: '5.1.1' })
    expect((await log(id)).final_at).toBeInstanceOf(Date)
    expect(
      await database.sql('select reason, category from mdm.aa_email_suppression where address = $1', [to]),
    ).toEqual([{ reason: 'bounce', category: '*' }])

    const before = smtp.lines.length
    const next = await workers.enqueue(mailTo(to.toUpperCase().replace('EXAMPLE.ORG', 'example.org')))
    expect((await workers.reached(next, 'done')).result).toEqual({ status: 'suppressed', reason: 'bounce' })
    expect(smtp.lines.slice(before)).toEqual([])
    expect(await log(next)).toMatchObject({ status: 'suppressed' })
    expect(await journal(next)).not.toContain('email_sent')
  })

  test.each([
    'a@x\r\nBcc: evil@y',
    'a@x, evil@y',
    'a@x.de;b@y.de',
    '<a@x.de>',
    'Ada <a@x.de>',
    'a@x.de\n',
    '"a b"@x.de',
    'a@[127.0.0.1]',
    'a@x.de(c)',
    '',
  ])('KINDS 2.6 (M03): the address %j is refused at the door', async (to) => {
    await expect(enqueue(database.pool, mailTo(to))).rejects.toThrow('/to/address')
  })

  test('KINDS 2.6: a subject from a variable with line breaks adds no header', async () => {
    const to = address()
    const id = await workers.enqueue({
      kind: 'email_send',
      payload: {
        to: { address: to },
        template: { key: 'welcome', variables: { name: 'Ada\r\nBcc: evil@example.org\r\n\r\nbody' } },
      },
    })
    await workers.reached(id, 'done')
    const [head] = handed()[0]!.raw.split('\r\n\r\n')
    expect(head).toMatch(/^Subject: Welcome, Ada Bcc: evil@example.org/m)
    expect(head).not.toMatch(/^Bcc:/im)
    expect(handed()).toMatchObject([{ to }])
  })

  test('KINDS 2.7: a bucket of 5 a second lets 50 mails out in nine to eleven seconds and costs no attempt; other tenants do not wait', async () => {
    await database.sql(
      `insert into mdm.aa_tenant (tenant_key, name, metadata) values ('slow', 'Slow', '{"rate_limit": {"email_send": {"rps": 5, "burst": 5}}}')`,
    )
    // What is claimed before would go without a limit.
    await workers.rulesInForce()
    const started = performance.now()
    const slowMails = Array.from({ length: 50 }, () => ({ ...mailTo(address()), tenant: 'slow' }))
    const quickMails = Array.from({ length: 10 }, () => mailTo(address()))
    const slow = await Promise.all(slowMails.map((mail) => workers.enqueue(mail)))
    const quick = await Promise.all(quickMails.map((mail) => workers.enqueue(mail)))
    const jobs = await Promise.all([...slow, ...quick].map((id) => workers.reached(id, 'done', 20_000)))
    const ms = performance.now() - started
    expect(ms).toBeGreaterThan(9_000)
    expect(ms).toBeLessThan(11_000)
    expect(new Set(jobs.map(({ attempts }) => attempts))).toEqual(new Set([1]))
    expect(handed()).toHaveLength(60)
    // The bucket is empty after five mails and needs two seconds for ten more: nobody else waits for that.
    const slowOnes = new Set(slowMails.map(({ payload }) => payload.to.address))
    const lastQuick = handed().findLastIndex(({ to }) => !slowOnes.has(to))
    const slowBefore = handed().slice(0, lastQuick).length - 9
    expect(slowBefore).toBeLessThanOrEqual(15)
  })

  test('KINDS 2.8: a variable is escaped in HTML and plain in text; both parts are there', async () => {
    const id = await workers.enqueue({
      kind: 'email_send',
      payload: {
        to: { address: address() },
        template: { key: 'welcome', locale: 'de-AT', variables: { name: '<script>' } },
      },
    })
    await workers.reached(id, 'done')
    const { raw } = handed()[0]!
    expect(raw).toContain('Hallo <script>,')
    expect(raw).toContain('Hallo &lt;script&gt;,')
    expect(raw).toMatch(/^Content-Type: multipart\/alternative/m)
    expect(await log(id)).toMatchObject({ template_key: 'welcome' })
  })
})

describe('nobody knows whether it was taken', () => {
  test('a transactional mail is sent once more with the same Message-ID', async () => {
    let drops = 1
    smtp.answer = (stage) => (stage === 'dot' && drops-- > 0 ? 'drop' : undefined)
    const id = await workers.enqueue(mailTo(address()))
    expect((await workers.reached(id, 'done')).attempts).toBe(2)
    expect(messageIds()).toEqual([`<job.${id}@example.org>`, `<job.${id}@example.org>`])
    expect(await log(id)).toMatchObject({ status: 'sent', unanswered: 0 })
  })

  test('once more, and no more: then a person decides, and a replay sends it', async () => {
    smtp.answer = (stage) => (stage === 'dot' ? 'drop' : undefined)
    const id = await workers.enqueue(mailTo(address()))
    const job = await workers.reached(id, 'dlq')
    expect(job.attempts).toBe(2)
    expect(job.lastError).toContain('Nobody knows')
    expect(handed()).toHaveLength(2)
    expect(await log(id)).toMatchObject({ status: 'unknown', unanswered: 2 })

    smtp.answer = () => undefined
    await database.sql(`update mdm.aa_job set status = 'pending', attempts = 0, available_at = now() where id = $1`, [
      id,
    ])
    expect(await until(async () => (await log(id)).status === 'sent', 'the replayed mail is sent')).toBe(true)
    expect(new Set(messageIds())).toEqual(new Set([`<job.${id}@example.org>`]))
  })

  test.each([{ category: 'bulk' }, { category: 'notification' }, { on_unknown: 'hold' }])(
    '%j is held at once',
    async (more) => {
      smtp.answer = (stage) => (stage === 'dot' ? 'drop' : undefined)
      const id = await workers.enqueue(mailTo(address(), more))
      expect((await workers.reached(id, 'dlq')).attempts).toBe(1)
      expect(handed()).toHaveLength(1)
      expect(await log(id)).toMatchObject({ status: 'unknown' })
    },
  )

  test('a connection that ends before the message is no doubt: it is simply sent later', async () => {
    let drops = 3
    smtp.answer = (stage) => (stage === 'rcpt' && drops-- > 0 ? 'drop' : undefined)
    const id = await workers.enqueue(mailTo(address(), { category: 'bulk' }))
    await workers.reached(id, 'done')
    expect(handed()).toHaveLength(1)
  })

  test('an answer to the message that says no is no doubt either', async () => {
    let refusals = 2
    smtp.answer = (stage) => (stage === 'dot' && refusals-- > 0 ? '451 4.3.0 try later' : undefined)
    const id = await workers.enqueue(mailTo(address(), { category: 'bulk' }))
    expect((await workers.reached(id, 'done')).attempts).toBe(3)
    expect(handed().map(({ taken }) => taken)).toEqual([false, false, true])
  })
})

describe('odd endings', () => {
  const stages: SmtpStage[] = ['greeting', 'ehlo', 'mail', 'rcpt', 'data', 'dot']
  const once = (stage: SmtpStage, answer: SmtpAnswer): void => {
    let left = 1
    smtp.cut()
    smtp.answer = (at) => (at === stage && left-- > 0 ? answer : undefined)
  }

  test.each(stages)('the connection is cut at %s: the mail goes out all the same', async (stage) => {
    once(stage, 'drop')
    const id = await workers.enqueue(mailTo(address()))
    await workers.reached(id, 'done', 20_000)
    expect(handed().filter(({ taken }) => taken)).toHaveLength(1)
    expect(handed()).toHaveLength(stage === 'dot' ? 2 : 1)
  })

  test.each(stages)('%s is answered by nonsense: the mail goes out all the same', async (stage) => {
    once(stage, 'nonsense')
    const id = await workers.enqueue(mailTo(address()))
    await workers.reached(id, 'done', 20_000)
    expect(handed().filter(({ taken }) => taken)).toHaveLength(1)
  })

  test('nonsense after the message is doubt', async () => {
    smtp.answer = (stage) => (stage === 'dot' ? 'nonsense' : undefined)
    const id = await workers.enqueue(mailTo(address(), { category: 'bulk' }))
    await workers.reached(id, 'dlq')
    expect(await log(id)).toMatchObject({ status: 'unknown' })
  })

  test('a server that says goodbye on a kept connection is called again at once', async () => {
    await workers.reached(await workers.enqueue(mailTo(address())), 'done')
    let goodbyes = 1
    smtp.answer = (stage) => (stage === 'mail' && goodbyes-- > 0 ? '421 4.4.2 idle for too long' : undefined)
    const job = await workers.reached(await workers.enqueue(mailTo(address())), 'done')
    expect(job.attempts).toBe(1)
  })

  test('a message larger than the server takes is not sent, and goes to the DLQ', async () => {
    smtp.cut()
    smtp.answer = (stage) => (stage === 'ehlo' ? '250-script\r\n250 SIZE 100' : undefined)
    const id = await workers.enqueue(mailTo(address()))
    const job = await workers.reached(id, 'dlq')
    expect(job.lastError).toContain('Message size larger than allowed 100')
    expect(handed()).toEqual([])
    smtp.cut()
  })
})

describe('the message', () => {
  test('carries sender, reply-to, names and X headers, folded and encoded', async () => {
    const to = address()
    const id = await workers.enqueue(
      mailTo(to, {
        to: { address: to, name: 'Ada, Gräfin "von" L' },
        from: 'billing',
        reply_to: { address: 'answers@example.org', name: 'Answers' },
        headers: { 'X-Campaign': 'spring' },
      }),
    )
    await workers.reached(id, 'done')
    const [mail] = handed()
    expect(mail).toMatchObject({ from: 'billing@example.org', to })
    const [head] = mail!.raw.split('\r\n\r\n')
    expect(head).toMatch(/^From: Billing <billing@example.org>/m)
    expect(head).toMatch(/^Reply-To: Answers <answers@example.org>/m)
    expect(head).toMatch(/^X-Campaign: spring/m)
    expect(head).toMatch(/^To: [ -~]*<ada\d+@example.org>/m)
  })

  test('has a text made from the HTML when none is given', async () => {
    const id = await workers.enqueue(
      mailTo(address(), { content: { subject: 'Hi', html: '<h1>Big</h1><p>small &amp; fine</p>' } }),
    )
    await workers.reached(id, 'done')
    expect(handed()[0]!.raw).toContain('small & fine')
  })

  test.each([
    [{ from: 'nobody' }, 'STELLWERK_MAIL_SENDERS'],
    [{ content: undefined, template: { key: 'missing' } }, 'setEmailTemplate'],
    [{ content: undefined, template: { key: 'welcome' } }, 'needs the variables name'],
  ])('that can never be made goes to the DLQ with a remedy: %j', async (more, remedy) => {
    const id = await workers.enqueue(mailTo(address(), more))
    const job = await workers.reached(id, 'dlq')
    expect(job).toMatchObject({ attempts: 1, lastError: expect.stringContaining(remedy) })
    expect(handed()).toEqual([])
  })

  test.each([
    { to: { address: 'a@x.de', name: 'A\r\nBcc: b@y.de' } },
    { content: { subject: 'A\nB', text: 'x' } },
    { content: { subject: 'A\u2028B', text: 'x' } },
    { content: { subject: 'A\u0085B', text: 'x' } },
    { headers: { Bcc: 'b@y.de' } },
    { headers: { 'X-A: b\r\nBcc': 'b@y.de' } },
    { headers: { 'X-A': 'b\r\nBcc: c@y.de' } },
    { headers: { 'X-A': 'b\u2029' } },
    { reply_to: { address: 'a@x.de\r\nBcc: b@y.de' } },
    { to: { address: 'a@x.de', bcc: 'b@y.de' } },
    { to: [{ address: 'a@x.de' }, { address: 'b@y.de' }] },
    { bcc: { address: 'b@y.de' } },
    { attachments: [{ path: '/etc/passwd' }] },
    { content: { subject: 'A', text: { path: '/etc/passwd' } } },
    { content: { subject: 'A', text: 'x', html: { href: 'http://127.0.0.1/' } } },
    { template: { key: 'welcome' } },
  ])('M03: %j is refused', (more) => {
    expect(emailSendPayload.safeParse(mailTo('a@x.de', more).payload).success).toBe(false)
  })
})

describe('suppression', () => {
  test.each([
    ['of the tenant', `'*', null`, true],
    ['of this category', `'transactional', null`, true],
    ['of another category', `'bulk', null`, false],
    ['that is over', `'*', now() - interval '1 second'`, false],
  ])('%s', async (_, row, holds) => {
    const to = address()
    await database.sql(
      `insert into mdm.aa_email_suppression (tenant_id, address, reason, category, expires_at)
       select id, $1, 'manual', ${row} from mdm.aa_tenant where tenant_key = 'default'`,
      [to],
    )
    const id = await workers.enqueue(mailTo(to))
    expect((await workers.reached(id, 'done')).result).toMatchObject({ status: holds ? 'suppressed' : 'sent' })
  })

  test('of the platform holds for every tenant', async () => {
    const to = address()
    await database.sql(
      `insert into mdm.aa_email_suppression (tenant_id, address, reason) select id, $1, 'complaint' from mdm.aa_tenant where tenant_key = 'platform'`,
      [to],
    )
    const id = await workers.enqueue(mailTo(to))
    expect((await workers.reached(id, 'done')).result).toEqual({ status: 'suppressed', reason: 'complaint' })
  })
})

test('the log follows a job that is stopped by plain SQL while it waits', async () => {
  smtp.answer = (stage) => (stage === 'rcpt' ? '450 4.2.0 later' : undefined)
  const id = await workers.enqueue(mailTo(address()))
  // A look of its own before the stop might find it waiting when it no longer is.
  await until(async () => {
    const stopped = await database.sql(
      `update mdm.aa_job set status = 'failed', last_error = 'no more' where id = $1 and status = 'pending' and attempts > 0 returning id`,
      [id],
    )
    return stopped.length > 0
  }, 'it is stopped while it waits after a failed attempt')
  const row = await log(id)
  expect(row).toMatchObject({ status: 'failed' })
  expect(row.final_at).toBeInstanceOf(Date)
})

test('500 mails in flight: each once', async () => {
  const before = smtp.connections
  const ids = await Promise.all(Array.from({ length: 500 }, () => workers.enqueue(mailTo(address()))))
  for (const id of ids) await workers.reached(id, 'done', 30_000)
  const seen = messageIds()
  expect(seen).toHaveLength(500)
  expect(new Set(seen).size).toBe(500)
  // A connection for each slot, not for each mail.
  expect(smtp.connections - before).toBeLessThanOrEqual(4)
})
