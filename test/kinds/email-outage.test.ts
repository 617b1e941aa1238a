import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMetrics } from '../../src/observe/metrics.ts'
import { createEvents } from '../../src/jobs/event.ts'
import type { Handler } from '../../src/workers/handler.ts'
import { createEmail } from '../../src/workers/handlers/email/create-email.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startSmtpScript, type SmtpScript } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'
import { startWorkers, type Workers } from './support.ts'

// The usual pauses, 240 times as fast: sixty tries, an hour out there, take a quarter of a minute or little more.
const pauses = { firstMs: 5_000 / 240, longestMs: 60_000 / 240 }
const slots = 4

let database: TestDatabase
let workers: Workers
const cleanups: (() => unknown)[] = []

beforeEach(async () => {
  database = await testDatabase()
  await database.sql(
    `update mdm.aa_tenant set metadata = '{"rate_limit": {"email_send": {"rps": 10000, "burst": 10000}}}'`,
  )
})
afterEach(async () => {
  await workers?.stop()
  for (const clean of cleanups.splice(0).toReversed()) await clean()
  await database.drop()
})

async function startHasty(env: Readonly<Record<string, string>>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-outage-'))
  cleanups.push(() => rm(dataDir, { recursive: true, force: true }))
  workers = await startWorkers(database, {
    env,
    slots,
    async handlersOf({ commit }, parts) {
      const email = await createEmail({ ...parts, db: commit, dataDir, pauses })
      cleanups.push(() => email!.stop())
      return { email_send: email!.handler as Handler }
    },
  })
}

/** What a scrape would have said after each event. */
async function providerOut(): Promise<number | undefined> {
  const events = createEvents((error) => {
    throw error
  })
  const metrics = createMetrics({
    events,
    db: { query: () => Promise.reject(new Error('not asked')) },
    subscriptions: () => 0,
    eventLagSeconds: () => null,
    eventGaps: () => 0,
    abandonedHandlers: () => 0,
  })
  for (const event of workers.events) events.emit(event)
  const line = /^mdm_provider_out\{provider="smtp",kind="email_send"\} (\d)$/m.exec(await metrics.scrape())
  return line === null ? undefined : Number(line[1])
}

const enqueueMany = (count: number) =>
  database.sql(
    `select count(*) from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', 'email_send', 'payload', jsonb_build_object(
       'to', jsonb_build_object('address', 'ada' || n || '@example.org'), 'content', '{"subject": "Hello", "text": "Text."}'::jsonb)))
       from generate_series(1, $1::int) n))`,
    [count],
  )
const counts = async () => {
  const rows = await database.sql<{ status: string; jobs: number; attempts: number }>(
    `select status, count(*)::int as jobs, max(attempts) as attempts from mdm.aa_job where job_kind = 'email_send' group by status`,
  )
  return Object.fromEntries(rows.map(({ status, jobs, attempts }) => [status, { jobs, attempts }]))
}
/** In one look between two tries: a moment later some may be tried again. */
const whenAllWait = (jobs: number) =>
  until(async () => {
    const now = await counts()
    return now['pending']?.jobs === jobs ? now : null
  }, 'every mail waits')
const outs = () => workers.events.filter(({ type }) => type === 'provider:out').length
const deaths = () => database.sql(`select 1 from mdm.aa_audit_log where action in ('job_dlq', 'job_retry')`)

/** Each mail taken once, each job done with one attempt, each line of the log `sent`. */
async function expectAllSent(smtp: SmtpScript, count: number): Promise<void> {
  await until(async () => (await counts())['done']?.jobs === count, 'every job is done', 20_000)
  expect(await counts()).toEqual({ done: { jobs: count, attempts: 1 } })
  expect(smtp.mails).toHaveLength(count)
  expect(new Set(smtp.mails.map(({ to }) => to)).size).toBe(count)
  expect(await database.sql('select status, count(*)::int as mails from mdm.aa_email_log group by status')).toEqual([
    { status: 'sent', mails: count },
  ])
  expect(await deaths()).toEqual([])
}

test('KINDS 2.5: a password that is refused five minutes long puts none of 200 mails into the DLQ; all go out once it is right', async () => {
  const smtp = await startSmtpScript()
  cleanups.push(() => smtp.stop())
  smtp.answer = (stage) => (stage === 'auth' ? '535 5.7.8 bad credentials' : undefined)
  await startHasty({
    SMTP_URL: smtp.url.replace('//', '//user:right@'),
    STELLWERK_KIND_EMAIL_SEND: '{"maxAttempts": 2}',
  })
  await enqueueMany(200)
  await until(() => outs() >= 6, 'it was refused for five minutes', 20_000)
  expect(await whenAllWait(200)).toEqual({ pending: { jobs: 200, attempts: 0 } })
  expect(await providerOut()).toBe(1)
  // The slots that were under way at first, then one a minute.
  expect(smtp.connections).toBeLessThanOrEqual(slots + outs())

  smtp.answer = () => undefined
  await until(() => smtp.mails.length === 200, 'every mail is sent', 20_000)
  await expectAllSent(smtp, 200)
  expect(await providerOut()).toBe(0)
}, 60_000)

test('a provider that is down for an hour with 4,000 mails waiting: none is lost, none dies, all go out at the rate of its cap', async () => {
  const closed = await startSmtpScript()
  await closed.stop()
  const [rps, burst] = [150, 20]
  await startHasty({
    SMTP_URL: closed.url,
    STELLWERK_PROVIDER_SMTP: JSON.stringify({ rps, burst }),
    STELLWERK_KIND_EMAIL_SEND: '{"maxAttempts": 2}',
  })
  await enqueueMany(4_000)
  await until(() => outs() >= 60, 'it was down for an hour', 90_000)
  expect(await whenAllWait(4_000)).toEqual({ pending: { jobs: 4_000, attempts: 0 } })
  expect(await providerOut()).toBe(1)

  const arrivals: number[] = []
  const opened = performance.now()
  const smtp = await startSmtpScript({ port: Number(new URL(closed.url).port) })
  cleanups.push(() => smtp.stop())
  smtp.answer = (stage) => {
    if (stage === 'dot') arrivals.push(performance.now() - opened)
    return undefined
  }
  await until(() => arrivals.length >= 4_000, 'every mail is sent', 120_000)
  await expectAllSent(smtp, 4_000)
  expect(await providerOut()).toBe(0)
  // Never faster than the cap allows: a full bucket, what the slots had in hand, and then so many a second.
  const early = arrivals.filter((at, nth) => at < ((nth + 1 - burst - slots) * 1_000) / rps)
  expect(early).toEqual([])
}, 240_000)
