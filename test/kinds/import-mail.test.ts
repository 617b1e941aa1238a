import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startSmtpScript, type SmtpScript } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'
import { importFixture, type ImportFixture } from './import-support.ts'

let smtp: SmtpScript
let fixture: ImportFixture
let typeId: string

beforeAll(async () => {
  smtp = await startSmtpScript()
  fixture = await importFixture({ env: { SMTP_URL: smtp.url }, kinds: ['bulk_import', 'email_send', 'cleanup_jobs'] })
  typeId = await fixture.type({ name: 'text' })
})
afterAll(async () => {
  await fixture.stop()
  await smtp.stop()
})
// A mail more than a test waits for would be taken for the next one's.
afterEach(async () => {
  await until(
    async () => (await fixture.sql(`select 1 from mdm.aa_job where status in ('pending', 'running')`)).length === 0,
    'nothing is under way',
  )
})

const to = (address: string) => ({ options: { notifyEmail: address } })
/** The mails that came to this address, with their lines as they were written. */
const mailsTo = (address: string): string[] =>
  smtp.mails.filter((mail) => mail.to === address).map(({ raw }) => raw.replaceAll('=\r\n', ''))
const mailTo = async (address: string): Promise<string> => {
  await until(() => mailsTo(address).length > 0, `a mail to ${address} is there`)
  return mailsTo(address)[0]!
}

test('KINDS 3: the uploader is told by mail what became of the file, enqueued in the transaction of its end', async () => {
  const content = Buffer.from('name\nAda\nJörg\nA\0\n', 'latin1')
  const id = await fixture.upload(typeId, content, { ...to('done@example.org'), filename: 'people.csv' })
  expect(await fixture.ended(id)).toMatchObject({ status: 'done' })
  const mail = await mailTo('done@example.org')
  expect(mail).toContain('Subject: Import of people.csv: done')
  for (const line of ['Rows committed: 2', 'Bad rows: 1', 'Rows in the file: 3', `import_${id}`, 'windows-1252'])
    expect(mail).toContain(line)
  // The journal's line is never written again: its transaction is the one that made it.
  const [{ together }] = (await fixture.sql(
    `select l.xmin = i.xmin as together from mdm.aa_import_job i, mdm.aa_audit_log l
      where i.id = $1 and l.job_kind = 'email_send' and l.action = 'job_enqueued' and l.actor_principal_id = 'system:bulk_import'`,
    [id],
  )) as [{ together: boolean }]
  expect(together).toBe(true)
})

test('a file that is refused is told with place and remedy', async () => {
  const id = await fixture.upload(typeId, 'name\nAda\n"Bob\n', to('refused@example.org'))
  expect(await fixture.ended(id)).toMatchObject({ status: 'failed' })
  const mail = await mailTo('refused@example.org')
  expect(mail).toContain('Subject: Import of file.csv: failed')
  expect(mail).toContain('The quote that opens in line 3, field 1, is never closed.')
})

test('an import whose job dies is told as well', async () => {
  const id = await fixture.upload(typeId, 'name\nAda\n', { ...to('died@example.org'), enqueue: false })
  await fixture.store.remove(`imports/${id}/file`)
  const jobId = await fixture.workers.enqueue({ kind: 'bulk_import', payload: { import_job_id: id } })
  await fixture.workers.reached(jobId, 'dlq')
  expect(await fixture.state(id)).toMatchObject({ status: 'failed' })
  expect(await mailTo('died@example.org')).toContain('Upload it again.')
})

test('a dry run ends without a mail; its commit has one', async () => {
  const id = await fixture.upload(typeId, 'name\nAda\n', {
    options: { notifyEmail: 'dry@example.org', dryRun: true },
  })
  expect(await fixture.ended(id)).toMatchObject({ status: 'validated' })
  const jobId = await fixture.workers.enqueue({
    kind: 'bulk_import',
    payload: { import_job_id: id, phase: 'commit' },
  })
  await fixture.workers.reached(jobId, 'done')
  await mailTo('dry@example.org')
  await until(
    async () =>
      (await fixture.sql(`select 1 from mdm.aa_job where job_kind = 'email_send' and status <> 'done'`)).length === 0,
    'every mail is sent',
  )
  expect(mailsTo('dry@example.org')).toHaveLength(1)
})

test('nobody is told who did not ask, and no name of a file gets into a header', async () => {
  const before = smtp.mails.length
  const quiet = await fixture.upload(typeId, 'name\nAda\n')
  expect(await fixture.ended(quiet)).toMatchObject({ status: 'done' })
  const id = await fixture.upload(typeId, 'name\nEve\n', {
    ...to('header@example.org'),
    filename: 'a\r\nBcc: evil@example.org\u2028.csv',
  })
  expect(await fixture.ended(id)).toMatchObject({ status: 'done' })
  const mail = await mailTo('header@example.org')
  expect(mail).toContain('Subject: Import of a  Bcc: evil@example.org .csv: done')
  expect(mail).not.toMatch(/^Bcc:/im)
  expect(smtp.mails.length).toBe(before + 1)
})

test('the end of an import of a closed tenant, or before email_send is known, does not fail for the mail', async () => {
  const tenant = await fixture.tenant('closing')
  const type = await fixture.type({ name: 'text' }, { tenantId: tenant })
  const one = await fixture.upload(type, 'name\nAda\n', { ...to('closed@example.org'), tenant, enqueue: false })
  await fixture.sql(`update mdm.aa_tenant set status = 'closed' where id = $1`, [tenant])
  await fixture.sql(`update mdm.aa_import_job set status = 'failed' where id = $1`, [one])
  const two = await fixture.upload(typeId, 'name\nBob\n', { ...to('early@example.org'), enqueue: false })
  const client = await fixture.pool.connect()
  try {
    await client.query('begin')
    await client.query(`delete from mdm.aa_job_kind where name = 'email_send'`)
    await client.query(`update mdm.aa_import_job set status = 'failed' where id = $1`, [two])
    await client.query('rollback')
  } finally {
    client.release()
  }
  expect(
    await fixture.sql(
      `select 1 from mdm.aa_job where job_kind = 'email_send' and payload #>> '{to,address}' = 'closed@example.org'`,
    ),
  ).toEqual([])
})
