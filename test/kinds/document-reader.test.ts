import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { fullReading } from '../../src/jobs/document-limits.ts'
import type { ReadingOrder } from '../../src/workers/handlers/documents/reader-protocol.ts'
import { ReaderKilled, runReader, type ReaderOptions } from '../../src/workers/handlers/documents/run-reader.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { until } from '../support/until.ts'
import { fontsMissing, startDocumentWorkers, type DocumentWorkers } from './document-support.ts'
import { invoice, makePdf, makeScan } from './documents.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-reader-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const png = () => makeScan(['Rechnung']).canvas.toBuffer('image/png')

describe('a reader that goes wrong ends alone', () => {
  const faults = fileURLToPath(new URL('./reader-faults.ts', import.meta.url))
  const order = (path: string): ReadingOrder => ({
    path,
    folder,
    type: 'text/plain',
    terms: fullReading,
    tools: { tesseract: null, pdftoppm: null, tesseractVersion: null, languages: [], dataFolder: folder },
  })
  const run = (path: string, options: Partial<ReaderOptions> = {}) =>
    runReader(order(path), { signal: AbortSignal.timeout(30_000), onPage: () => undefined, module: faults, ...options })

  test.each([
    ['loop', { pageMs: 1_000 }, /longer than 1000 ms/],
    ['hang', { pageMs: 1_000 }, /longer than 1000 ms/],
    ['memory', { memoryBytes: 400 * 1024 * 1024 }, /more than 400 MiB/],
    ['heap', {}, /^The reader ran out of memory\.$/],
    ['crash', {}, /ended with SIGABRT and no answer/],
  ])('%s', { timeout: 40_000 }, async (path, options, message) => {
    const killed = await run(path, options).catch((error: unknown) => error)
    expect(killed).toBeInstanceOf(ReaderKilled)
    expect((killed as Error).message).toMatch(message)
  })

  test('where no process can be started, only the reading fails', () => {
    const program = fileURLToPath(new URL('./start-no-reader.ts', import.meta.url))
    const { status, stdout } = spawnSync(process.execPath, [program], { encoding: 'utf8', timeout: 20_000 })
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'spawn /nothing ENOENT' })
  })

  test('an abort ends it at once, with its own reason', async () => {
    const stop = new AbortController()
    const reading = run('loop', { signal: stop.signal }).catch((error: unknown) => error)
    stop.abort(new Error('stopped by a person'))
    expect(((await reading) as Error).message).toBe('stopped by a person')
  })

  test('it gets nothing of the environment', async () => {
    const told = (await run('environment').catch((error: unknown) => error)) as Error
    const environment = JSON.parse(told.message.replace('Reading failed: ', '')) as object
    expect(Object.keys(environment).filter((name) => !name.startsWith('NODE_CHANNEL'))).toEqual([])
  })
})

describe('in the workers', () => {
  if (fontsMissing !== null) {
    leaveOut(fontsMissing)
    return
  }
  let database: TestDatabase
  let workers: DocumentWorkers | undefined
  beforeAll(async () => {
    database = await testDatabase()
  })
  afterEach(async () => {
    await workers?.stop()
    workers = undefined
  })
  afterAll(() => database?.drop())

  test(
    'KINDS 10.7: what hangs is killed at the time limit, its slot is free again, others are read',
    { timeout: 90_000 },
    async () => {
      const program = await fakeTesseract('hanging', 'exec sleep 98765')
      workers = await startDocumentWorkers(database, {
        slots: 1,
        env: {
          TESSERACT_BIN: program,
          STELLWERK_KIND_DOCUMENT_PROCESS: '{"timeoutMs": 10000, "maxAttempts": 1}',
        },
      })
      const hanging = await workers.store(png(), { filename: 'hanging.png' })
      await until(() => isRunning('sleep 98765'), 'the program hangs', 20_000)
      const other = await workers.store(Buffer.from('A text that waits for the only slot.'))
      expect((await workers.reached(hanging.jobId, 'dlq', 20_000)).lastError).toMatch(/ran longer than 10000 ms/)
      await until(async () => !(await isRunning('sleep 98765')), 'the program is gone')
      await workers.reached(other.jobId, 'done', 20_000)
      expect(await workers.document(hanging.id)).toMatchObject({ processing_status: 'failed', content: null })
      expect(await readdir(join(workers.archiveDir, '..', 'documents-work'))).toEqual([])
    },
  )

  test('a document that kills its reader twice is given up', { timeout: 60_000 }, async () => {
    workers = await startDocumentWorkers(database, {
      env: { TESSERACT_BIN: await fakeTesseract('killing', 'kill -9 $PPID') },
    })
    const { lastError, jobId } = await workers.refused(png(), { filename: 'killing.png' })
    expect(lastError).toMatch(/^unreadable_document: The reader ended with SIGKILL and no answer\. It was tried twice/)
    expect(await workers.job(jobId)).toMatchObject({ attempts: 2 })
  })

  test(
    'KINDS 10.3: the archive is the same afterwards: bytes, sizes, times and modes',
    { timeout: 60_000 },
    async () => {
      workers = await startDocumentWorkers(database, { env: { TESSERACT_BIN: 'off' } })
      const ids = []
      for (const bytes of [makePdf([{ lines: invoice.map((line) => [line, 11] as const) }]), Buffer.from('Text.')])
        ids.push((await workers.read(bytes))['id'] as string)
      const before = await inventory(workers.archiveDir)
      expect(before.map(({ mode }) => mode)).toEqual([0o444, 0o444])
      for (const id of ids) await workers.again(id)
      expect(await inventory(workers.archiveDir)).toEqual(before)
    },
  )

  test(
    'KINDS 10.8: who stores one document does not wait for another one who stores 500',
    { timeout: 120_000 },
    async () => {
      await database.sql(
        `insert into mdm.aa_tenant (tenant_key, name) values ('many', 'Many'), ('one', 'One') on conflict do nothing`,
      )
      workers = await startDocumentWorkers(database, { slots: 2 })
      const { id, jobId } = await workers.store(Buffer.from('One of five hundred.'), { tenant: 'many' })
      await workers.reached(jobId, 'done', 30_000)
      await database.sql(
        `select mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', 'document_process', 'tenant', 'many', 'payload', jsonb_build_object('document_id', $1::text))) from generate_series(1, 500)))`,
        [id],
      )
      const doneOfMany = async () => {
        const [row] = await database.sql<{ n: number }>(
          `select count(*)::int as n from mdm.aa_job j join mdm.aa_tenant t on t.id = j.tenant_id where t.tenant_key = 'many' and j.status = 'done'`,
        )
        return row!.n
      }
      await until(async () => (await doneOfMany()) > 3, 'the many are under way', 30_000)
      const single = await workers.store(Buffer.from('The only one.'), { tenant: 'one' })
      const before = await doneOfMany()
      await workers.reached(single.jobId, 'done', 60_000)
      // A round is one of each; what was claimed ahead and what ran meanwhile comes on top.
      expect((await doneOfMany()) - before).toBeLessThan(20)
      await database.sql(`delete from mdm.aa_job where status = 'pending'`)
    },
  )
})

/** A program that answers like tesseract, and then does this instead of reading. */
async function fakeTesseract(name: string, instead: string): Promise<string> {
  const path = join(folder, name)
  const lines = [
    '#!/bin/sh',
    'case "$1" in',
    '--list-langs) echo "deu"; echo "eng"; exit;;',
    '--version) echo "tesseract 5.0"; exit;;',
    'esac',
    instead,
  ]
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o755 })
  return path
}

/** Whether any process has this command line; zombies have none. */
async function isRunning(command: string): Promise<boolean> {
  const found = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) =>
        (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' ').trim(),
      ),
  )
  return found.includes(command)
}

async function inventory(
  root: string,
): Promise<{ readonly name: string; readonly mode: number; readonly [key: string]: unknown }[]> {
  const names = (await readdir(root, { recursive: true })).toSorted()
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(root, name)
      const facts = await stat(path)
      if (!facts.isFile()) return null
      const sha256 = createHash('sha256')
        .update(await readFile(path))
        .digest('hex')
      return { name, mode: facts.mode & 0o777, size: facts.size, mtime: facts.mtimeMs, ctime: facts.ctimeMs, sha256 }
    }),
  )
  return files.filter((file) => file !== null)
}
