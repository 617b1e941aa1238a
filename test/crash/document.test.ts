import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fontsMissing, storeDocument } from '../kinds/document-support.ts'
import { makeScan, makeTiff, makeTiffPage } from '../kinds/documents.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { seededRandom } from '../support/random.ts'
import { startSmtpScript, type SmtpScript } from '../support/smtp-script.ts'
import { until } from '../support/until.ts'
import { killableWorkers, kills, survivesKills, type KillableWorkers } from './killable-workers.ts'

const random = seededRandom()

describe('a worker that dies while it reads', () => {
  if (fontsMissing !== null) {
    leaveOut(fontsMissing)
    return
  }
  let database: TestDatabase
  let smtp: SmtpScript
  let dataDir: string
  let worker: KillableWorkers

  beforeEach(async () => {
    database = await testDatabase()
    worker = killableWorkers(database)
    smtp = await startSmtpScript()
    dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-crash-'))
  })
  afterEach(async () => {
    await worker.kill()
    await smtp.stop()
    await rm(dataDir, { recursive: true, force: true })
    await database.drop()
  })

  const start = (tesseract: string) =>
    worker.start({
      dataDir,
      slots: 2,
      kinds: ['document_process', 'email_send'],
      env: { SMTP_URL: smtp.url, TESSERACT_BIN: tesseract },
    })
  const reached = async (jobId: string, status: string): Promise<void> => {
    const isThere = async () =>
      (await database.sql('select 1 from mdm.aa_job where id = $1 and status = $2', [jobId, status])).length > 0
    await until(isThere, `the job is ${status}`, 60_000)
  }

  test('KINDS 10.6: is recovered, and the mail of the workflow goes out once', { timeout: 120_000 }, async () => {
    await sendsMail()
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
    await worker.kill()

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

  test(
    `KINDS 10.6: SIGKILL at random moments of reading: each document is read, and tells its workflow once (SEED=${random.seed})`,
    { timeout: 60_000 + kills * 30_000 },
    async () => {
      await sendsMail()
      // Takes a moment for each page, and says the same of all.
      const program = join(dataDir, 'slow')
      await writeFile(
        program,
        `#!/bin/sh\ncase "$1" in --list-langs) echo "deu eng"; exit;; --version) echo "tesseract 5.0"; exit;; esac\nsleep 0.2\necho "Rechnung Nr. 4711" > "$2.txt"\nprintf '1\\t1\\n' > "$2.tsv"\n`,
        { mode: 0o755 },
      )
      const start = (...also: string[]) =>
        worker.start({
          dataDir,
          slots: 2,
          kinds: ['document_process', ...also],
          env: {
            SMTP_URL: smtp.url,
            TESSERACT_BIN: program,
            STELLWERK_KIND_DOCUMENT_PROCESS: survivesKills,
          },
        })
      const tiff = makeTiff([makeTiffPage(8), makeTiffPage(8)])
      const stored: { readonly id: string; readonly content: string }[] = []
      const store = async (): Promise<void> => {
        const text = `Ein Text, ${stored.length}.`
        const isPicture = stored.length % 3 === 0
        const { id } = await storeDocument(database, join(dataDir, 'archive'), isPicture ? tiff : Buffer.from(text))
        stored.push({ id, content: isPicture ? 'Rechnung Nr. 4711\n\f\nRechnung Nr. 4711' : text })
      }
      const open = async (): Promise<number> =>
        (await database.sql(`select 1 from mdm.aa_job where job_kind = 'document_process' and status <> 'done'`)).length
      let met = 0
      await start()
      for (let kill = 0; kill < kills; kill += 1) {
        while ((await open()) < 6) await store()
        await delay(random.below(1_500))
        const [{ running }] = (await database.sql(
          `select count(*)::int as running from mdm.aa_job where job_kind = 'document_process' and status = 'running'`,
        )) as [{ running: number }]
        await worker.kill()
        met += running
        await start()
      }
      expect(met).toBeGreaterThan(0)
      await until(async () => (await open()) === 0, 'all are read', 60_000)
      await worker.kill()
      await start('email_send')
      await until(
        async () => (await database.sql(`select 1 from mdm.aa_job where status <> 'done'`)).length === 0,
        'the mails are sent',
        60_000,
      )

      const rows = await database.sql<{ id: string; status: string; content: string; audits: number; mails: number }>(
        `select d.id, d.processing_status as status, t.content,
                (select count(*)::int from mdm.aa_audit_log l where l.action = 'document_processed' and l.payload ->> 'document_id' = d.id::text) as audits,
                (select count(*)::int from mdm.document_workflow_run r where r.document_id = d.id and r.status = 'done') as mails
           from mdm.documents d join mdm.document_text t on t.document_id = d.id order by d.id`,
      )
      expect(rows).toEqual(stored.map(({ id, content }) => ({ id, status: 'done', content, audits: 1, mails: 1 })))
      expect(smtp.mails).toHaveLength(stored.length)
    },
  )

  /** A workflow for every document. */
  async function sendsMail(): Promise<void> {
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
  }
})
