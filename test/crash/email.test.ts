import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startSmtpScript, type SmtpScript } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'
import { killableWorkers, type KillableWorkers } from './killable-workers.ts'

let database: TestDatabase
let smtp: SmtpScript
let dataDir: string
let worker: KillableWorkers

beforeEach(async () => {
  database = await testDatabase()
  worker = killableWorkers(database)
  smtp = await startSmtpScript()
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-crash-'))
  await startWorker()
})
afterEach(async () => {
  await worker.kill()
  await smtp.stop()
  await rm(dataDir, { recursive: true, force: true })
  await database.drop()
})

const startWorker = () => worker.start({ dataDir, slots: 1, env: { SMTP_URL: smtp.url } })

async function enqueue(category: string): Promise<string> {
  const [row] = await database.sql<{ id: string }>(`select job_id as id from mdm.enqueue_job('email_send', $1)`, [
    JSON.stringify({ to: { address: 'ada@example.org' }, content: { subject: 'Hello', text: 'Text.' }, category }),
  ])
  return row!.id
}

/** A new process on the same data directory; the recovered job need not wait for its turn in the wave. */
async function restart(id: string): Promise<void> {
  await startWorker()
  await until(
    async () =>
      (
        await database.sql(
          `update mdm.aa_job set available_at = now(), deferred = false where id = $1 and status <> 'running' returning id`,
          [id],
        )
      ).length > 0,
    'the job is recovered',
  )
}

async function reached(id: string, status: string): Promise<void> {
  await until(
    async () => (await database.sql('select 1 from mdm.aa_job where id = $1 and status = $2', [id, status])).length > 0,
    `the job is ${status}`,
    20_000,
  )
}

const log = async () => (await database.sql('select status, unanswered, attempts from mdm.aa_email_log'))[0]
const messageIds = () => smtp.mails.map(({ raw }) => /^Message-ID: (.*)$/im.exec(raw)?.[1])

test('KINDS 2.3: killed after the answer, before the commit: the ack journal knows, and nothing is sent again', async () => {
  const lock = await database.pool.connect()
  smtp.answer = async (stage) => {
    if (stage === 'dot') {
      await lock.query('begin')
      // The commit has to wait for this row, so that the process can be killed between the two.
      await lock.query('select 1 from mdm.aa_email_log for update')
    }
    return undefined
  }
  const id = await enqueue('bulk')
  await until(async () => {
    const folder = join(dataDir, 'ack-journal')
    const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
    return files.some((text) => text.includes(id))
  }, 'the ack journal has the answer')
  await worker.kill()
  await lock.query('rollback')
  lock.release()

  await restart(id)
  await reached(id, 'done')
  expect(smtp.mails).toHaveLength(1)
  expect(await log()).toMatchObject({ status: 'sent', unanswered: 0 })
  expect(await database.sql(`select 1 from mdm.aa_audit_log where action = 'email_sent'`)).toHaveLength(1)
})

test('killed before the answer: a transactional mail goes out again with the same Message-ID', async () => {
  smtp.answer = (stage) => (stage === 'dot' ? 'hang' : undefined)
  const id = await enqueue('transactional')
  await until(() => smtp.mails.length === 1, 'the message is handed over')
  await worker.kill()
  smtp.answer = () => undefined
  await restart(id)
  await reached(id, 'done')
  expect(messageIds()).toEqual([`<job.${id}@localhost>`, `<job.${id}@localhost>`])
  expect(await log()).toMatchObject({ status: 'sent', unanswered: 0 })
})

test('killed before the answer: any other mail is held for a person', async () => {
  smtp.answer = (stage) => (stage === 'dot' ? 'hang' : undefined)
  const id = await enqueue('bulk')
  await until(() => smtp.mails.length === 1, 'the message is handed over')
  await worker.kill()
  smtp.answer = () => undefined
  await restart(id)
  await reached(id, 'dlq')
  expect(smtp.mails).toHaveLength(1)
  expect(await log()).toMatchObject({ status: 'unknown', unanswered: 1 })
})

test.each(['mail', 'rcpt'] as const)('killed at %s, before the message: no doubt, it is sent once', async (at) => {
  smtp.answer = (stage) => (stage === at ? 'hang' : undefined)
  const id = await enqueue('bulk')
  await until(() => smtp.lines.some((line) => line.toLowerCase().startsWith(at)), `${at} was said`)
  await worker.kill()
  smtp.answer = () => undefined
  await restart(id)
  await reached(id, 'done')
  expect(smtp.mails).toHaveLength(1)
})
