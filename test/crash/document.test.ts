import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fontsMissing, storeDocument } from '../kinds/document-support.ts'
import { makeScan } from '../kinds/documents.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { startSmtpScript, type SmtpScript } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'

describe('a worker that dies while it reads', () => {
  if (fontsMissing !== null) {
    leaveOut(fontsMissing)
    return
  }
  let database: TestDatabase
  let smtp: SmtpScript
  let dataDir: string
  let worker: ChildProcess | undefined

  beforeEach(async () => {
    database = await testDatabase()
    smtp = await startSmtpScript()
    dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-crash-'))
  })
  afterEach(async () => {
    await kill()
    await smtp.stop()
    await rm(dataDir, { recursive: true, force: true })
    await database.drop()
  })

  const start = async (tesseract: string): Promise<void> => {
    const script = fileURLToPath(new URL('./document-worker.ts', import.meta.url))
    worker = spawn(process.execPath, [script, database.url, dataDir, smtp.url, tesseract], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await Promise.race([
      once(worker.stdout!, 'data'),
      once(worker, 'exit').then(([code]) =>
        Promise.reject(new Error(`The worker ended with ${code} instead of starting.`)),
      ),
    ])
  }
  const kill = async (): Promise<void> => {
    if (worker === undefined || worker.exitCode !== null || worker.signalCode !== null) return
    const gone = once(worker, 'exit')
    worker.kill('SIGKILL')
    await gone
  }
  const reached = async (jobId: string, status: string): Promise<void> => {
    const isThere = async () =>
      (await database.sql('select 1 from mdm.aa_job where id = $1 and status = $2', [jobId, status])).length > 0
    await until(isThere, `the job is ${status}`, 60_000)
  }

  test('KINDS 10.6: is recovered, and the mail of the workflow goes out once', { timeout: 120_000 }, async () => {
    await database.sql(
      `insert into mdm.document_workflow (tenant_id, name, conditions, actions) select id, 'tell', '{}', $1 from mdm.aa_tenant where tenant_key = 'default'`,
      [
        JSON.stringify([
          {
            type: 'sendEmail',
            to: { address: 'ada@example.org' },
            content: { subject: 'New: {{ document.title }}', text: 'Read it.' },
          },
        ]),
      ],
    )
    // Stands in for a page that takes long; it notes its process, so that its end can be seen.
    const hanging = join(dataDir, 'hanging')
    const noted = join(dataDir, 'pid')
    await writeFile(
      hanging,
      `#!/bin/sh\ncase "$1" in --list-langs) echo "deu eng"; exit;; --version) echo "tesseract 5.0"; exit;; esac\necho $$ > ${noted}\nexec sleep 3600\n`,
      { mode: 0o755 },
    )
    await start(hanging)
    const bytes = makeScan().canvas.toBuffer('image/jpeg', 85)
    const { id, jobId } = await storeDocument(database, join(dataDir, 'archive'), bytes, { filename: 'scan.jpg' })
    await until(
      () =>
        access(noted).then(
          () => true,
          () => false,
        ),
      'the page is being read',
      30_000,
    )
    await kill()

    // Nobody is left to kill it: the reader notices by itself that its parent is gone.
    const pid = Number(await readFile(noted, 'utf8'))
    await until(
      async () => !/sleep/.test(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
      'the program is gone',
    )

    await start('off')
    await until(
      async () =>
        (
          await database.sql(
            `update mdm.aa_job set available_at = now(), deferred = false where id = $1 and status <> 'running' returning id`,
            [jobId],
          )
        ).length > 0,
      'the job is recovered',
    )
    await reached(jobId, 'done')
    await until(() => smtp.mails.length > 0, 'the mail is sent', 20_000)

    const [again] = await database.sql<{ job: string }>('select mdm.process_document($1) as job', [id])
    await reached(again!.job, 'done')
    expect(smtp.mails).toHaveLength(1)
    expect(smtp.mails[0]!.raw).toContain('Subject: New: Rechnung Nr. 2026-004711')
    const [document] = await database.sql('select processing_status, title, run from mdm.documents where id = $1', [id])
    expect(document).toEqual({ processing_status: 'done', title: 'Rechnung Nr. 2026-004711', run: 2 })
  })
})
