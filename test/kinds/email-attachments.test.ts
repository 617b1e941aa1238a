import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { simpleParser } from 'mailparser'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startSmtpScript, type SmtpScript } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'
import { attachmentsOf } from './attachment-support.ts'
import { startWorkers, type Workers } from './support.ts'

let database: TestDatabase
let smtp: SmtpScript
let workers: Workers
let files: ReturnType<typeof attachmentsOf>

beforeAll(async () => {
  database = await testDatabase()
  await database.sql(`insert into mdm.aa_tenant (tenant_key, name) values ('other', 'Other')`)
  smtp = await startSmtpScript()
  workers = await startWorkers(database, {
    env: {
      SMTP_URL: smtp.url,
      STELLWERK_KIND_EMAIL_SEND: '{"maxAttempts": 2, "backoff": {"baseMs": 50, "maxMs": 100, "jitter": 0}}',
    },
  })
  files = attachmentsOf(database, workers)
})

afterAll(async () => {
  await workers?.stop()
  await smtp?.stop()
  await database?.drop()
})

/** An attachment as a scan leaves it. */
const scanned = async (
  bytes: Buffer,
  { filename = 'a.pdf', status = 'clean', tenant = 'default' } = {},
): Promise<string> => {
  const { id } = await files.commit(bytes, { tenant, held: true })
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const key = `objects/${tenant}/${sha256}`
  await workers.store.remove(key)
  await workers.store.put(key, Readable.from([bytes]), { maxBytes: 50_000_000 })
  await database.sql(
    `update mdm.ddm_attachment set virus_scan_status = $2, object_key = $3, sha256 = $4, filename = $5, detected_type = 'application/pdf' where id = $1`,
    [id, status, key, sha256, filename],
  )
  return id
}
const mailWith = (ids: readonly string[]) => ({
  kind: 'email_send',
  payload: {
    to: { address: 'ada@example.org' },
    content: { subject: 'Files', text: 'See below.' },
    attachment_ids: ids,
  },
})
const lastMail = async () => simpleParser(smtp.mails.at(-1)!.raw)

test('clean files of the same tenant go along, as they are', async () => {
  const [one, two] = [randomBytes(300_000), Buffer.from('%PDF-1.7')]
  const ids = [await scanned(one, { filename: 'größe "1".pdf' }), await scanned(two)]
  await workers.reached(await workers.enqueue(mailWith(ids)), 'done')
  const { attachments, text } = await lastMail()
  expect(text).toContain('See below.')
  expect(
    attachments.map(({ filename, contentType, contentDisposition }) => ({ filename, contentType, contentDisposition })),
  ).toEqual([
    { filename: 'größe "1".pdf', contentType: 'application/pdf', contentDisposition: 'attachment' },
    { filename: 'a.pdf', contentType: 'application/pdf', contentDisposition: 'attachment' },
  ])
  expect(attachments[0]!.content.equals(one)).toBe(true)
  expect(attachments[1]!.content.equals(two)).toBe(true)
})

test('M03: a name that came into the table by another way adds no header and names no path', async () => {
  const id = await scanned(Buffer.from('x'), { filename: 'a\r\nBcc: evil@example.org\r\n/../b.pdf' })
  await workers.reached(await workers.enqueue(mailWith([id])), 'done')
  const { raw, to } = smtp.mails.at(-1)!
  expect(to).toBe('ada@example.org')
  expect(raw).not.toMatch(/^Bcc:/im)
  expect((await lastMail()).attachments[0]!.filename).toBe('a__Bcc: evil@example.org___.._b.pdf')
})

test.each(['infected', 'unscannable', 'error'])('what is %s is never sent', async (status) => {
  const before = smtp.mails.length
  const id = await scanned(randomBytes(10), { status })
  const job = await workers.reached(await workers.enqueue(mailWith([id])), 'dlq')
  expect(job).toMatchObject({ attempts: 1, lastError: expect.stringContaining(`a.pdf is locked (${status})`) })
  expect(smtp.mails).toHaveLength(before)
})

test('KINDS 7.7: what belongs to another tenant is not there', async () => {
  const id = await scanned(randomBytes(10), { tenant: 'other' })
  const job = await workers.reached(await workers.enqueue(mailWith([id])), 'dlq')
  expect(job.lastError).toContain('attachment_ids/0: there is no such attachment in this tenant')
})

test('more than 10 MB together are refused, 10 MB are sent', async () => {
  const half = 5 * 1024 * 1024
  const exactly = [await scanned(randomBytes(half)), await scanned(randomBytes(half))]
  await workers.reached(await workers.enqueue(mailWith(exactly)), 'done', 20_000)
  const more = [...exactly, await scanned(randomBytes(1))]
  const job = await workers.reached(await workers.enqueue(mailWith(more)), 'dlq')
  expect(job.lastError).toContain('10485761 bytes together; at most 10485760')
})

test('what is not scanned yet is waited for, without losing attempts; then the mail goes out', async () => {
  const bytes = randomBytes(10)
  const id = await scanned(bytes, { status: 'pending' })
  const jobId = await workers.enqueue(mailWith([id]))
  await until(
    async () =>
      (await database.sql(`select 1 from mdm.aa_audit_log where job_id = $1 and action = 'job_released'`, [jobId]))
        .length >= 2,
    'the mail was put off twice',
  )
  await database.sql(`update mdm.ddm_attachment set virus_scan_status = 'clean' where id = $1`, [id])
  expect(await workers.reached(jobId, 'done')).toMatchObject({ attempts: 1 })
})

test('a scan that takes for ever becomes an error that says so', async () => {
  const id = await scanned(randomBytes(10), { status: 'scanning' })
  const jobId = await workers.enqueue({ ...mailWith([id]), availableAt: new Date(Date.now() + 3_600_000) })
  await database.sql(
    `update mdm.aa_job set created_at = now() - interval '6 minutes', available_at = now() where id = $1`,
    [jobId],
  )
  const job = await until(async () => {
    const state = await workers.job(jobId)
    return state.attempts === 1 && state.status === 'pending' ? state : null
  }, 'the first attempt has failed')
  expect(job.lastError).toContain('a.pdf has not been scanned yet')
})

test('bytes that are not those that were scanned are not sent', async () => {
  const bytes = randomBytes(10)
  const id = await scanned(bytes)
  const { objectKey } = await files.state(id)
  await workers.store.remove(objectKey!)
  await workers.store.put(objectKey!, Readable.from([randomBytes(10)]), { maxBytes: 100 })
  const job = await workers.reached(await workers.enqueue(mailWith([id])), 'dlq')
  expect(job.lastError).toContain('is not what was scanned')
})
