import { loadConfig } from '../../src/config.ts'
import { createEvents } from '../../src/jobs/event.ts'
import { pauseKind } from '../../src/sql/pause-kind.ts'
import { resumeKind } from '../../src/sql/resume-kind.ts'
import type { ObjectStore } from '../../src/objects/object-store.ts'
import { createEmail } from '../../src/workers/handlers/email/create-email.ts'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startSmtpScript } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'
import { startWorkers, type Workers } from './support.ts'

let database: TestDatabase
let workers: Workers | undefined
const cleanups: (() => unknown)[] = []

beforeEach(async () => {
  database = await testDatabase()
  await database.sql(
    `update mdm.aa_tenant set metadata = '{"rate_limit": {"email_send": {"rps": 10000, "burst": 10000}}}'`,
  )
})
afterEach(async () => {
  await workers?.stop()
  workers = undefined
  for (const clean of cleanups.splice(0)) await clean()
  await database.drop()
})

const mail = (nth: number) => ({
  kind: 'email_send',
  payload: { to: { address: `ada${nth}@example.org` }, content: { subject: 'Hello', text: 'Text.' } },
})
const counts = async () => {
  const rows = await database.sql<{ status: string; jobs: number; attempts: number }>(
    `select status, count(*)::int as jobs, max(attempts) as attempts from mdm.aa_job where job_kind = 'email_send' group by status`,
  )
  return Object.fromEntries(rows.map(({ status, jobs, attempts }) => [status, { jobs, attempts }]))
}
const enqueueMany = (count: number) =>
  database.sql(
    `select count(*) from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', 'email_send', 'payload', jsonb_build_object(
       'to', jsonb_build_object('address', 'ada' || n || '@example.org'), 'content', '{"subject": "Hello", "text": "Text."}'::jsonb)))
       from generate_series(1, $1::int) n))`,
    [count],
  )
/** In one look: until the pause is in force, a mail that was sent back may be claimed once more. */
const whenAllWait = (jobs: number) =>
  until(async () => {
    const now = await counts()
    return now['pending']?.jobs === jobs ? now : null
  }, 'every mail waits')
const told = (type: string) => workers!.events.filter((event) => event.type === type)

test('KINDS 2.5: a wrong password pauses the kind: of 200 mails none is in the DLQ, none loses an attempt', async () => {
  const smtp = await startSmtpScript()
  cleanups.push(() => smtp.stop())
  smtp.answer = (stage) => (stage === 'auth' ? '535 5.7.8 bad credentials' : undefined)
  workers = await startWorkers(database, { env: { SMTP_URL: smtp.url.replace('//', '//user:wrong@') } })
  await enqueueMany(200)
  await until(() => told('provider:out').length > 0 && smtp.connections > 0, 'the provider is known to be out')
  const pause = await until(
    async () =>
      (
        await database.sql(
          "select reason, paused_by, until > now() + interval '50 seconds' as long from mdm.aa_queue_pause",
        )
      )[0],
    'the kind is paused',
  )
  expect(await whenAllWait(200)).toEqual({ pending: { jobs: 200, attempts: 0 } })
  expect(told('provider:out')).toMatchObject([{ fault: 'refusing', ms: 60_000 }])
  // One try each for the slots that were under way, none for the rest.
  expect(smtp.connections).toBeLessThanOrEqual(4)
  expect(pause).toEqual({ reason: expect.stringContaining('535 5.7.8'), paused_by: 'system:email_breaker', long: true })
  expect(
    await database.sql(`select actor_principal_id from mdm.aa_audit_log where action = 'queue_pause'`),
  ).toHaveLength(1)
})

test('a provider that is down takes no attempts; when it is back all mails go out, each once, and the pause is lifted', async () => {
  const closed = await startSmtpScript()
  const port = Number(new URL(closed.url).port)
  await closed.stop()
  workers = await startWorkers(database, {
    env: { SMTP_URL: closed.url, STELLWERK_KIND_EMAIL_SEND: '{"maxAttempts": 2}' },
  })
  await enqueueMany(40)
  await until(() => told('provider:out').length > 0, 'the provider is known to be out')
  await until(async () => (await database.sql('select from mdm.aa_queue_pause')).length > 0, 'the kind is paused')
  expect(await whenAllWait(40)).toEqual({ pending: { jobs: 40, attempts: 0 } })

  const smtp = await startSmtpScript({ port })
  cleanups.push(() => smtp.stop())
  await until(async () => (await counts()).done?.jobs === 40, 'every mail is sent', 25_000)
  expect(await counts()).toEqual({ done: { jobs: 40, attempts: 1 } })
  expect(new Set(smtp.mails.map(({ to }) => to)).size).toBe(40)
  expect(smtp.mails).toHaveLength(40)
  expect(told('provider:back')).toHaveLength(1)
  await until(async () => (await database.sql('select 1 from mdm.aa_queue_pause')).length === 0, 'the pause is lifted')
})

test('M02: a provider that asks for less gets less, and no mail loses an attempt; the others go on, without a pause', async () => {
  const smtp = await startSmtpScript()
  cleanups.push(() => smtp.stop())
  const arrivals: number[] = []
  smtp.answer = (stage, to) => {
    if (stage === 'rcpt' && to.startsWith('ada1@'))
      return '454 4.7.0 Throttling failure: Maximum sending rate exceeded.'
    if (stage === 'dot') arrivals.push(performance.now())
    return undefined
  }
  workers = await startWorkers(database, { env: { SMTP_URL: smtp.url } })
  const id = await workers.enqueue(mail(1))
  await until(async () => {
    const job = await workers!.job(id)
    return job.status === 'pending' && job.waitMs > 30_000
  }, 'the mail was put off')
  const job = await workers.job(id)
  expect(job.attempts).toBe(0)
  expect(job.waitMs).toBeGreaterThan(55_000)
  expect(job.waitMs).toBeLessThan(600_000)
  // One mail in the last seconds, now half a mail a second, where there was no bucket before.
  expect(told('provider:paced')).toMatchObject([{ provider: 'smtp', rps: 0.5, reason: expect.stringContaining('454') }])
  const others = await Promise.all([2, 3, 4].map((nth) => workers!.enqueue(mail(nth))))
  for (const other of others) await workers.reached(other, 'done', 20_000)
  // The first has a token, the others wait for theirs.
  expect(arrivals.at(-1)! - arrivals[0]!).toBeGreaterThan(2_500)
  expect(told('provider:out')).toEqual([])
  expect(await database.sql('select 1 from mdm.aa_queue_pause')).toEqual([])
})

test('the cap of the provider holds over all tenants together, and costs no attempt', async () => {
  const smtp = await startSmtpScript()
  cleanups.push(() => smtp.stop())
  await database.sql(
    `insert into mdm.aa_tenant (tenant_key, name, metadata) select 'other', 'Other', metadata from mdm.aa_tenant where tenant_key = 'default'`,
  )
  workers = await startWorkers(database, {
    env: { SMTP_URL: smtp.url, STELLWERK_PROVIDER_SMTP: '{"rps": 10, "burst": 5}' },
  })
  const started = performance.now()
  const ids = await Promise.all(
    Array.from({ length: 25 }, (_, nth) =>
      workers!.enqueue({ ...mail(nth), tenant: nth % 2 === 0 ? 'default' : 'other' }),
    ),
  )
  const jobs = await Promise.all(ids.map((id) => workers!.reached(id, 'done')))
  const ms = performance.now() - started
  expect(ms).toBeGreaterThan(1_800)
  expect(ms).toBeLessThan(4_000)
  expect(new Set(jobs.map(({ attempts }) => attempts))).toEqual(new Set([1]))
})

test('one pause goes on while the provider stays out; after a while it is a new one', async () => {
  const pause = () => pauseKind(database.pool, 'email_send', 60_000, 'out', 'system:email_breaker')
  const journaled = async () =>
    (await database.sql(`select 1 from mdm.aa_audit_log where action = 'queue_pause'`)).length
  await pause()
  await database.sql(
    `update mdm.aa_queue_pause set since = now() - interval '1 hour', until = now() - interval '1 second'`,
  )
  await pause()
  expect(await journaled()).toBe(1)
  await database.sql(`update mdm.aa_queue_pause set until = now() - interval '10 minutes'`)
  await pause()
  expect(await journaled()).toBe(2)
  expect(await database.sql(`select since > now() - interval '1 minute' as fresh from mdm.aa_queue_pause`)).toEqual([
    { fresh: true },
  ])
})

test("a person's pause is left alone by the breaker's, and outlives it", async () => {
  await database.sql(
    `insert into mdm.aa_queue_pause (job_kind, reason, paused_by) values ('email_send', 'by hand', 'user:admin')`,
  )
  expect(await pauseKind(database.pool, 'email_send', 60_000, 'out', 'system:email_breaker')).toEqual([])
  await resumeKind(database.pool, 'email_send', 'system:email_breaker')
  expect(await database.sql('select reason, until from mdm.aa_queue_pause')).toEqual([
    { reason: 'by hand', until: null },
  ])
  expect(await database.sql('select action from mdm.aa_audit_log')).toEqual([])
})

/** A real server with a certificate of its own that nobody has signed. */
async function startSecureServer(options: SMTPServerOptions): Promise<{ port: number; received: string[] }> {
  const received: string[] = []
  const server = new SMTPServer({
    disableReverseLookup: true,
    onAuth: ({ username, password }, session, done) =>
      done(username === 'user' && password === 'p@ss' && session.secure ? null : new Error('no'), { user: 'user' }),
    onData(stream, session, done) {
      stream.resume().on('end', () => {
        received.push(`${session.envelope.rcptTo[0]!.address} ${session.secure}`)
        done()
      })
    },
    ...options,
  })
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  cleanups.push(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { port: (server.server.address() as AddressInfo).port, received }
}

test.each([
  ['smtps://', { secure: true }],
  ['smtp://', {}],
])('%s: sends encrypted and logged in', async (scheme, options) => {
  const { port, received } = await startSecureServer(options)
  const url = `${scheme}user:p%40ss@127.0.0.1:${port}?tls.rejectUnauthorized=false&requireTLS=true`
  workers = await startWorkers(database, { env: { SMTP_URL: url } })
  const id = await workers.enqueue(mail(1))
  await workers.reached(id, 'done')
  expect(received).toEqual(['ada1@example.org true'])
})

test.each([
  ['smtps://', { secure: true }, ''],
  ['smtp://', {}, ''],
  ['smtp://', { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] }, '?requireTLS=true'],
])(
  '%s: a certificate that nobody vouches for, or no encryption where it is required, is a fault of the provider',
  async (scheme, options, query) => {
    const { port, received } = await startSecureServer(options)
    workers = await startWorkers(database, { env: { SMTP_URL: `${scheme}127.0.0.1:${port}${query}` } })
    const id = await workers.enqueue(mail(1))
    await until(() => told('provider:out').length > 0, 'the provider is known to be out')
    // In one look: until the pause is in force, it may be claimed once more.
    expect(await workers.reached(id, 'pending')).toMatchObject({ attempts: 0 })
    expect(received).toEqual([])
  },
)

test('the development mailbox takes the mail when there is no provider, keeps the newest first, and can be emptied', async () => {
  workers = await startWorkers(database)
  for (const nth of [1, 2]) await workers.reached(await workers.enqueue(mail(nth)), 'done')
  const mails = workers.mailbox!.list()
  expect(mails).toMatchObject([
    { to: 'ada2@example.org', from: 'stellwerk@localhost', subject: 'Hello', text: 'Text.\n', html: null },
    { to: 'ada1@example.org' },
  ])
  expect(mails[0]!.messageId).toMatch(/^<job\.[0-9a-f-]{36}@localhost>$/)
  expect(Date.parse(mails[0]!.receivedAt)).toBeGreaterThan(Date.now() - 60_000)
  workers.mailbox!.clear()
  expect(workers.mailbox!.list()).toEqual([])
  expect(await database.sql('select distinct provider from mdm.aa_email_log')).toEqual([{ provider: 'mailbox' }])
})

test('in production without SMTP_URL nobody serves email_send', async () => {
  const config = loadConfig({ STELLWERK_ENV: 'production', DATABASE_URL: database.url })
  const events = createEvents(() => undefined)
  expect(
    await createEmail({
      config,
      db: database.pool,
      store: {} as ObjectStore,
      dataDir: '/nowhere',
      events,
      limits: {},
      onPause: () => undefined,
    }),
  ).toBeNull()
})
