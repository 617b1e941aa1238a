import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { importOptions, type ImportOptions } from '../../src/jobs/import-options.ts'
import { createFolderStore } from '../../src/objects/folder-store.ts'
import type { ObjectStore } from '../../src/objects/object-store.ts'
import { createImport } from '../../src/sql/create-import.ts'
import { setImportJob } from '../../src/sql/set-import-job.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startWorkers, type Workers } from './support.ts'

/** `required` may be left out. */
export type Attributes = Readonly<Record<string, string | { readonly type: string; readonly required: boolean }>>

export interface ImportState {
  readonly status: string
  readonly encoding: string | null
  readonly format: string | null
  readonly total: number | null
  readonly staged: number
  readonly validated: number
  readonly valid: number
  readonly invalid: number
  readonly committed: number
  readonly error: { readonly code: string; readonly message: string } | null
  readonly warning: string | null
  readonly jobId: string
  readonly resultKey: string | null
}

export interface UploadOptions {
  readonly filename?: string
  readonly options?: Readonly<Partial<Record<keyof ImportOptions, unknown>>>
  readonly tenant?: string
  /** False: the caller enqueues. */
  readonly enqueue?: boolean
}

const stateColumns = `status, encoding, format, total_rows as total, staged_rows as staged, validated_rows as validated, valid_rows as valid,
  invalid_rows as invalid, committed_rows as committed, error, warning, job_id as "jobId", result_key as "resultKey"`

export type ImportFixture = Awaited<ReturnType<typeof importFixture>>

/** A database with an object store, and workers that import. */
export async function importFixture({
  slots = 2,
  serve = true,
  /** With one object store, each with one import at a time. */
  instances = 1,
  env = {} as Readonly<Record<string, string>>,
  kinds = ['bulk_import', 'cleanup_jobs'] as readonly string[],
} = {}) {
  const database: TestDatabase = await testDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-import-'))
  const store: ObjectStore = await createFolderStore(join(dataDir, 'objects'))
  const { sql } = database
  const [{ id: defaultTenant }] = (await sql<{ id: string }>(
    `select id from mdm.aa_tenant where tenant_key = 'default'`,
  )) as [{ id: string }]
  const workers: Workers | null = serve ? await startWorkers(database, { dataDir, slots, env, kinds }) : null

  const shared = { ...env, STELLWERK_OBJECTS_DIR: join(dataDir, 'objects') }
  const others: Workers[] = []
  for (let more = 1; more < instances; more += 1)
    others.push(await startWorkers(database, { slots, env: shared, kinds }))

  const state = async (id: string): Promise<ImportState> =>
    (
      await sql<ImportState & { [name: string]: unknown }>(
        `select ${stateColumns} from mdm.aa_import_job where id = $1`,
        [id],
      )
    )[0]!

  return {
    ...database,
    dataDir,
    store,
    workers: workers!,
    state,
    tenantId: defaultTenant,
    async tenant(key: string): Promise<string> {
      return (
        await sql<{ id: string }>(`insert into mdm.aa_tenant (tenant_key, name) values ($1, $1) returning id`, [key])
      )[0]!.id
    },
    async type(
      attributes: Attributes,
      { key = `t${randomUUID().slice(0, 8)}`, tenantId = defaultTenant } = {},
    ): Promise<string> {
      const [type] = await sql<{ id: string }>(
        `insert into mdm.ddm_entity_type (tenant_id, type_key, name) values ($1, $2, $2) returning id`,
        [tenantId, key],
      )
      for (const [name, given] of Object.entries(attributes)) {
        const { type: dataType, required } = typeof given === 'string' ? { type: given, required: false } : given
        await sql(
          `insert into mdm.ddm_entity_type_attribute (entity_type_id, attr_key, data_type, required) values ($1, $2, $3, $4)`,
          [type!.id, name, dataType, required],
        )
      }
      return type!.id
    },
    /** Stores the file and enqueues its job; answers the import's id. */
    async upload(
      typeId: string,
      content: string | Buffer | Readable,
      { filename = 'file.csv', options = {}, tenant = defaultTenant, enqueue = true }: UploadOptions = {},
    ): Promise<string> {
      const id = randomUUID()
      const key = `imports/${id}/file`
      const body = content instanceof Readable ? content : Readable.from([Buffer.from(content)], { objectMode: false })
      const { sha256, sizeBytes } = await store.put(key, body, { maxBytes: 1e12 })
      const { mapping, ...rest } = importOptions.parse(options)
      await createImport(
        database.pool,
        id,
        tenant,
        typeId,
        'user:ada',
        store.id,
        key,
        sha256,
        sizeBytes,
        filename,
        JSON.stringify(mapping),
        JSON.stringify(rest),
        randomUUID(),
      )
      if (enqueue) {
        const jobId = await workers!.enqueue({ kind: 'bulk_import', payload: { import_job_id: id }, tenant })
        await setImportJob(database.pool, id, jobId)
      }
      return id
    },
    /** Waits until the import has come to rest and its job is done, and answers it. */
    async ended(id: string, withinMs = 30_000): Promise<ImportState> {
      const at = await until(
        async () => {
          const now = await state(id)
          return ['done', 'failed', 'cancelled', 'validated'].includes(now.status) ? now : null
        },
        `the import ${id} has ended`,
        withinMs,
      )
      if (workers !== null && at.status !== 'cancelled')
        await until(
          async () => !['pending', 'running'].includes((await workers.job(at.jobId)).status),
          'its job has ended',
        )
      return at
    },
    async rows(id: string): Promise<
      {
        row: number
        status: string
        key: string | null
        raw: Record<string, unknown>
        errors: { attr?: string; code: string }[] | null
      }[]
    > {
      return sql(
        `select row_no as row, status, external_key as key, raw, errors from mdm.aa_import_row where import_job_id = $1 order by row_no`,
        [id],
      )
    },
    async entities(
      typeId: string,
    ): Promise<{ key: string | null; attributes: Record<string, unknown>; version: number }[]> {
      return sql(
        `select external_key as key, attributes, version from mdm.ddm_entity where entity_type_id = $1 order by external_key, id`,
        [typeId],
      )
    },
    async result(id: string): Promise<string> {
      return (await buffer(await store.openRead((await state(id)).resultKey!))).toString('utf8')
    },
    async stop() {
      for (const each of [...others, workers]) await each?.stop()
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
