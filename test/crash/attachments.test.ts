import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createFolderStore } from '../../src/objects/folder-store.ts'
import { startClamdScript, type ClamdScript } from '../support/clamd-script.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { killableWorkers, kills, survivesKills, type KillableWorkers } from './killable-workers.ts'

const random = seededRandom()

let database: TestDatabase
let clamd: ClamdScript
let dataDir: string
let worker: KillableWorkers

beforeEach(async () => {
  database = await testDatabase()
  worker = killableWorkers(database)
  clamd = await startClamdScript()
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-crash-'))
})
afterEach(async () => {
  await worker.kill()
  await clamd.stop()
  await rm(dataDir, { recursive: true, force: true })
  await database.drop()
})

const startWorker = () =>
  worker.start({
    dataDir,
    kinds: ['virus_scan'],
    env: { CLAMD_URL: clamd.url, STELLWERK_KIND_VIRUS_SCAN: survivesKills },
  })

const unfinished = async (): Promise<number> =>
  (await database.sql(`select 1 from mdm.aa_job where job_kind = 'virus_scan' and status <> 'done'`)).length

test(
  `SIGKILL at random moments of scanning: every file ends with its verdict, once, and with its bytes (SEED=${random.seed})`,
  { timeout: 240_000 },
  async () => {
    // Slow enough that the kills meet scans under way.
    clamd.answer = async (bytes) => {
      await delay(bytes[0]! % 60)
      return bytes.includes('evil') ? 'stream: Evil FOUND' : 'stream: OK'
    }
    const store = await createFolderStore(join(dataDir, 'objects'))
    const files = Array.from({ length: 100 }, (_, n) => ({
      id: randomUUID(),
      bad: n % 5 === 0,
      bytes: Buffer.concat([randomBytes(20_000), Buffer.from(n % 5 === 0 ? 'evil' : 'good')]),
    }))
    await startWorker()
    for (const { id, bytes } of files) {
      const key = `incoming/t/${id}`
      const { etag } = await store.put(key, Readable.from([bytes]), { maxBytes: 100_000 })
      await database.sql(
        `with job as (select job_id from mdm.enqueue_job('virus_scan', jsonb_build_object('attachment_id', $1::uuid, 'etag', $2::text, 'attempt_reason', 'commit')))
       insert into mdm.ddm_attachment (id, tenant_id, filename, declared_type, announced_bytes, size_bytes, upload_status, upload_expires_at, store, incoming_key, etag,
                                       virus_scan_status, job_id)
       select $1, mdm.tenant_of('default'), 'a', 'x/y', $3, $3, 'committed', now(), $4, $5, $2, 'pending', job_id from job`,
        [id, etag, bytes.length, store.id, key],
      )
    }
    let met = 0
    for (let kill = 0; kill < kills; kill += 1) {
      await delay(random.below(100))
      met += (await unfinished()) > 0 ? 1 : 0
      await worker.kill()
      await startWorker()
    }
    expect(met).toBeGreaterThan(0)
    await until(async () => (await unfinished()) === 0, 'every job is done', 60_000)

    const rows = await database.sql<{ id: string; status: string; key: string; sha256: string; audits: number }>(
      `select a.id, a.virus_scan_status as status, a.object_key as key, a.sha256,
            (select count(*)::int from mdm.aa_audit_log l where l.action = 'attachment_scanned' and l.payload ->> 'attachment_id' = a.id::text) as audits
       from mdm.ddm_attachment a`,
    )
    const byId = new Map(rows.map((row) => [row.id, row]))
    for (const { id, bad, bytes } of files) {
      const row = byId.get(id)!
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      expect(row).toMatchObject({ status: bad ? 'infected' : 'clean', audits: 1, sha256 })
      expect((await buffer(await store.openRead(row.key))).equals(bytes)).toBe(true)
    }
    // What is clean lies in one place only, once what was given up is removed.
    await until(async () => {
      const names = await readdir(join(dataDir, 'objects', 'quarantine'), { recursive: true, withFileTypes: true })
      return names.filter((entry) => entry.isFile()).length === files.filter(({ bad }) => bad).length
    }, 'quarantine holds the infected ones alone')
  },
)
