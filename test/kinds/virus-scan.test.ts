import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createEvents } from '../../src/jobs/event.ts'
import { ObjectMissing } from '../../src/objects/object-store.ts'
import { createScan } from '../../src/workers/handlers/scan/create-scan.ts'
import { startClamdScript, type ClamdScript } from '../support/clamd-script.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { attachmentsOf } from './attachment-support.ts'
import { startWorkers, type Workers } from './support.ts'

let database: TestDatabase
let clamd: ClamdScript
let workers: Workers
let files: ReturnType<typeof attachmentsOf>

beforeAll(async () => {
  database = await testDatabase()
  clamd = await startClamdScript()
  workers = await startWorkers(database, {
    kinds: ['virus_scan'],
    env: {
      CLAMD_URL: clamd.url,
      STELLWERK_MAX_UPLOAD_MB: '8',
      STELLWERK_KIND_VIRUS_SCAN:
        '{"maxAttempts": 3, "timeoutMs": 4000, "backoff": {"baseMs": 50, "maxMs": 200, "jitter": 0.1}}',
    },
  })
  files = attachmentsOf(database, workers)
})

afterAll(async () => {
  await workers?.stop()
  await clamd?.stop()
  await database?.drop()
})

afterEach(() => {
  clamd.answer = () => undefined
  clamd.interrupt = () => undefined
})

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex')
const isGone = (key: string) => until(async () => (await workers.store.stat(key)) === null, `${key} is removed`)

describe('verdicts', () => {
  test('clean: under its own hash, with type, version and one audit row; what it was taken from is removed', async () => {
    const bytes = Buffer.from('%PDF-1.7 something')
    const { id, jobId, incomingKey } = await files.commit(bytes)
    expect((await workers.reached(jobId, 'done')).result).toEqual({ status: 'clean', scanned: true })
    const state = await files.state(id)
    expect(state).toMatchObject({
      status: 'clean',
      sha256: sha256(bytes),
      signature: null,
      detectedType: 'application/pdf',
      scannerVersion: 'ClamAV 1.4.3/1/Script',
    })
    expect(state.objectKey).toMatch(new RegExp(`^objects/[0-9a-f-]{36}/${sha256(bytes)}$`))
    expect(await files.bytes(state.objectKey!)).toEqual(bytes)
    expect(await files.audits(id)).toBe(1)
    expect(await workers.store.stat(incomingKey)).toBeNull()
    const [quarantined] = await database.sql<{ key: string }>(
      `select object_key as key from mdm.aa_object_removal where object_key like 'quarantine/%' || $1 || '%'`,
      [id],
    )
    if (quarantined !== undefined) await isGone(quarantined.key)
  })

  test.each([
    ['stream: Win.Test.EICAR_HDB-1 FOUND', 'infected', 'Win.Test.EICAR_HDB-1'],
    ['stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND', 'unscannable', 'Heuristics.Limits.Exceeded.MaxFileSize'],
    ['stream: Heuristics.Encrypted.Zip FOUND', 'unscannable', 'Heuristics.Encrypted.Zip'],
    ['INSTREAM size limit exceeded. ERROR', 'unscannable', 'Limits.StreamMaxLength'],
  ])('%s: %s, locked in quarantine, and the job is done', async (reply, status, signature) => {
    clamd.answer = () => reply
    const { id, jobId } = await files.commit(randomBytes(100))
    expect((await workers.reached(jobId, 'done')).result).toEqual({ status, signature, scanned: true })
    const state = await files.state(id)
    expect(state).toMatchObject({ status, signature })
    expect(state.objectKey).toMatch(/^quarantine\//)
    expect(await workers.store.stat(state.objectKey!)).not.toBeNull()
  })

  test('KINDS 7.5: larger than the limit is unscannable, and is not sent', async () => {
    const before = clamd.scans.length
    const { id, jobId } = await files.commit(Buffer.alloc(8 * 1024 * 1024 + 1))
    await workers.reached(jobId, 'done')
    expect(await files.state(id)).toMatchObject({ status: 'unscannable', signature: 'Limits.UploadSize' })
    expect(clamd.scans).toHaveLength(before)
  })

  test('all bytes go to the scanner, and nothing else', async () => {
    const bytes = randomBytes(7 * 1024 * 1024 + 13)
    const { jobId } = await files.commit(bytes)
    await workers.reached(jobId, 'done', 25_000)
    const [scan] = clamd.scans.filter(({ bytes: seen }) => seen.length === bytes.length)
    expect(scan!.bytes.equals(bytes)).toBe(true)
  })
})

describe('a scan that ends oddly is tried again, and never clean by default', () => {
  test.each([
    ['closed without an answer', 'drop'],
    ['torn', 'reset'],
    ['a fault of clamd', "stream: Can't allocate memory ERROR"],
    ['an unknown command', 'UNKNOWN COMMAND'],
    ['half an answer', 'stream: O'],
    ['OK for something else', 'file: OK'],
    ['OK within more', 'stream: OK FOUND OK'],
    ['an empty answer', ''],
  ])('%s', async (_, ending) => {
    let left = 2
    clamd.answer = () => (left-- > 0 ? ending : undefined)
    const { id, jobId } = await files.commit(randomBytes(50_000))
    const job = await workers.reached(jobId, 'done')
    expect(job.attempts).toBe(3)
    expect(await files.state(id)).toMatchObject({ status: 'clean' })
    expect(await files.audits(id)).toBe(1)
  })

  test.each(['drop', 'reset', 'stream: OK', 'INSTREAM size limit exceeded. ERROR'])(
    'in the middle of the bytes: %s',
    async (ending) => {
      clamd.interrupt = (bytes) => (bytes > 1_000_000 ? ending : undefined)
      const { id, jobId } = await files.commit(randomBytes(6 * 1024 * 1024))
      await until(async () => ['done', 'dlq'].includes((await workers.job(jobId)).status), 'the job has ended')
      expect((await files.state(id)).status).toMatch(/^(?:error|unscannable)$/)
    },
  )

  test('to the last attempt: the status is error, and a replay scans again', async () => {
    clamd.answer = () => 'stream: Broken ERROR'
    const { id, jobId } = await files.commit('never')
    const job = await workers.reached(jobId, 'dlq')
    expect(job.attempts).toBe(3)
    expect(job.lastError).toContain('The scanner answered: stream: Broken ERROR')
    expect(await files.state(id)).toMatchObject({ status: 'error', uploadStatus: 'committed' })
    expect((await files.state(id)).error).toContain('Broken')

    clamd.answer = () => undefined
    await database.sql(`update mdm.aa_job set status = 'pending', attempts = 0, available_at = now() where id = $1`, [
      jobId,
    ])
    await files.reached(id, 'clean')
    expect((await files.state(id)).error).toBeNull()
  })

  test(
    'V02, KINDS 7.3: a scanner that says nothing: three attempts, the slot is free after each, and nothing is left open',
    { timeout: 60_000 },
    async () => {
      clamd.answer = () => 'hang'
      const { id, jobId } = await files.commit('patience')
      const job = await workers.reached(jobId, 'dlq', 40_000)
      expect(job.attempts).toBe(3)
      expect(await files.state(id)).toMatchObject({ status: 'error' })
      await until(() => clamd.open === 0, 'every connection is closed')
      clamd.answer = () => undefined
      const next = await files.commit('prompt')
      await workers.reached(next.jobId, 'done')
    },
  )
})

describe('V03: the verdict is about these bytes', () => {
  test('infected and clean ones in parallel, on one scanner: each has its own verdict', async () => {
    clamd.answer = async (bytes) => {
      // So that they end in another order than they came in.
      await delay(bytes.at(-1)! % 40)
      return bytes.includes('evil') ? 'stream: Evil FOUND' : 'stream: OK'
    }
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        files.commit(Buffer.concat([Buffer.from(n % 3 === 0 ? 'evil' : 'good'), randomBytes(2_000)])),
      ),
    )
    for (const { jobId } of made) await workers.reached(jobId, 'done')
    expect(clamd.mostOpen).toBeGreaterThan(1)
    const states = await Promise.all(made.map(({ id }) => files.state(id)))
    expect(states.map(({ status }) => status)).toEqual(made.map((_, n) => (n % 3 === 0 ? 'infected' : 'clean')))
  })

  test('KINDS 7.4: replaced before the scan: an error, never clean', async () => {
    const { id, jobId, incomingKey } = await files.commit('first', { held: true })
    await workers.store.remove(incomingKey)
    await workers.store.put(incomingKey, Readable.from([Buffer.from('other')]), { maxBytes: 100 })
    await files.release(jobId)
    const job = await workers.reached(jobId, 'dlq')
    expect(job).toMatchObject({ attempts: 1 })
    expect(job.lastError).toContain('replaced')
    expect(await files.state(id)).toMatchObject({ status: 'error' })
  })

  test('KINDS 7.4: replaced during and after the scan: what is served is what was scanned', async () => {
    let incoming = ''
    clamd.answer = async () => {
      await workers.store.put(incoming, Readable.from([Buffer.from('evil')]), { maxBytes: 100 })
      return 'stream: OK'
    }
    const { id, jobId, incomingKey } = await files.commit('good', { held: true })
    incoming = incomingKey
    await files.release(jobId)
    await workers.reached(jobId, 'done')
    const state = await files.state(id)
    expect(state).toMatchObject({ status: 'clean', sha256: sha256('good') })
    expect(String(await files.bytes(state.objectKey!))).toBe('good')
  })

  test('gone before the scan: an error', async () => {
    const { id, jobId, incomingKey } = await files.commit('gone', { held: true })
    await workers.store.remove(incomingKey)
    await files.release(jobId)
    expect((await workers.reached(jobId, 'dlq')).lastError).toContain('gone')
    expect(await files.state(id)).toMatchObject({ status: 'error' })
  })

  test('the same bytes twice are one object', async () => {
    const bytes = randomBytes(500)
    const [one, two] = [await files.commit(bytes), await files.commit(bytes)]
    await workers.reached(one.jobId, 'done')
    await workers.reached(two.jobId, 'done')
    expect((await files.state(one.id)).objectKey).toBe((await files.state(two.id)).objectKey)
  })

  test('a rescan that finds something locks every attachment of these bytes, and removes the object', async () => {
    const bytes = randomBytes(500)
    const [one, two] = [await files.commit(bytes), await files.commit(bytes)]
    await workers.reached(one.jobId, 'done')
    await workers.reached(two.jobId, 'done')
    const { objectKey } = await files.state(one.id)
    clamd.answer = () => 'stream: Found.Later FOUND'
    const jobId = await files.enqueue(one.id)
    await workers.reached(jobId, 'done')
    for (const { id } of [one, two]) {
      const state = await files.state(id)
      expect(state).toMatchObject({ status: 'infected', signature: 'Found.Later' })
      expect(state.objectKey).toMatch(/^quarantine\//)
      expect((await files.bytes(state.objectKey!)).equals(bytes)).toBe(true)
    }
    await isGone(objectKey!)
    await expect(workers.store.openRead(objectKey!)).rejects.toThrow(ObjectMissing)
  })
})

describe('jobs and rows', () => {
  test('KINDS 7.6: run twice in parallel: one audit row, one object', async () => {
    const bytes = randomBytes(1_000)
    let both: () => void = () => undefined
    const met = new Promise<void>((resolve) => (both = resolve))
    let asked = 0
    clamd.answer = async () => {
      asked += 1
      if (asked === 1) {
        // The claim of this run is taken back while it waits for the scanner; the second run comes to the same point.
        await database.sql(
          `update mdm.aa_job set status = 'pending', available_at = now(), claimed_by = null, claimed_at = null where id = $1 and status = 'running'`,
          [first.jobId],
        )
        await met
      } else both()
      return 'stream: OK'
    }
    const first = await files.commit(bytes, { held: true })
    await files.release(first.jobId)
    await workers.reached(first.jobId, 'done')
    await until(() => asked === 2, 'it ran twice')
    await until(() => clamd.open === 0, 'both scans have ended')
    expect(await files.audits(first.id)).toBe(1)
    expect(await files.state(first.id)).toMatchObject({ status: 'clean', sha256: sha256(bytes) })
  })

  test('what was judged already is not scanned again, but by a rescan', async () => {
    const { id, jobId } = await files.commit('once')
    await workers.reached(jobId, 'done')
    const before = clamd.scans.length
    const commit = await files.enqueue(id, { attempt_reason: 'commit' })
    expect((await workers.reached(commit, 'done')).result).toEqual({ status: 'clean', scanned: false })
    expect(clamd.scans).toHaveLength(before)
    const rescan = await files.enqueue(id)
    expect((await workers.reached(rescan, 'done')).result).toEqual({ status: 'clean', scanned: true })
    expect(clamd.scans).toHaveLength(before + 1)
    expect((await files.state(id)).jobId).toBe(rescan)
  })

  test('KINDS 7.7: the job of another tenant scans nothing', async () => {
    await database.sql(`insert into mdm.aa_tenant (tenant_key, name) values ('other', 'Other')`)
    const { id, jobId } = await files.commit('mine')
    await workers.reached(jobId, 'done')
    const foreign = await workers.enqueue({ kind: 'virus_scan', tenant: 'other', payload: { attachment_id: id } })
    expect((await workers.reached(foreign, 'dlq')).lastError).toContain('no such attachment in this tenant')
    expect(await files.state(id)).toMatchObject({ status: 'clean', jobId })
  })

  test.each([
    ['stopped', `update mdm.aa_job set status = 'failed', last_error = 'no more' where id = $1`],
    ['discarded', 'delete from mdm.aa_job where id = $1'],
  ])('a job that is %s leaves the file locked', async (_, statement) => {
    const { id, jobId } = await files.commit('locked', { held: true })
    await database.sql(statement, [jobId])
    expect(await files.state(id)).toMatchObject({ status: 'error' })
    const again = await files.enqueue(id)
    await workers.reached(again, 'done')
    expect(await files.state(id)).toMatchObject({ status: 'clean' })
  })

  test('bytes in the folder of another instance: the job waits for that one, without losing attempts', async () => {
    const { id, jobId } = await files.commit('elsewhere', { storeId: 'folder:another' })
    await until(
      async () =>
        (await database.sql(`select 1 from mdm.aa_audit_log where job_id = $1 and action = 'job_released'`, [jobId]))
          .length > 0,
      'it was put off',
    )
    expect((await workers.job(jobId)).attempts).toBeLessThanOrEqual(1)
    expect(await files.state(id)).toMatchObject({ status: 'pending' })
    await database.sql(`update mdm.ddm_attachment set store = $1 where id = $2`, [workers.store.id, id])
    await files.reached(id, 'clean')
  })
})

test('without CLAMD_URL nobody here serves virus_scan: there is no stand-in', async () => {
  const events = createEvents(() => undefined)
  const config = { clamdUrl: null, maxUploadBytes: 1 }
  const scan = await createScan({ config, db: database.pool, store: workers.store, events })
  expect(scan.handler).toBeNull()
  await scan.stop()
})
