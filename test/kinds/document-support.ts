import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { GlobalFonts } from '@napi-rs/canvas'
import { createFolderArchive } from '../../src/objects/worm-archive.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startWorkers, type Workers } from './support.ts'

/** Why pictures of text cannot be made here; null: they can. */
export const fontsMissing =
  GlobalFonts.families.length === 0 && process.env['CI'] !== 'true' ? 'there is no font to draw scans with' : null

export interface StoredDocument {
  readonly id: string
  readonly jobId: string
  readonly archiveKey: string
}

interface StoreOptions {
  readonly filename?: string
  readonly tenant?: string
  readonly deriveTitle?: boolean
  readonly sha256?: string
}

/** Workers that read documents from an archive of their own. */
export interface DocumentWorkers extends Omit<Workers, 'store'> {
  readonly archiveDir: string
  store(bytes: Buffer, options?: StoreOptions): Promise<StoredDocument>
  /** The document's row with its text, terms and workflow runs. */
  document(
    id: string,
  ): Promise<Record<string, unknown> & { readonly terms: Record<string, string>; readonly content: string | null }>
  /** Stores and waits until it is read. */
  read(bytes: Buffer, options?: StoreOptions): ReturnType<DocumentWorkers['document']>
  /** Stores and waits until it is given up. */
  refused(bytes: Buffer, options?: StoreOptions): Promise<StoredDocument & { readonly lastError: string }>
  again(id: string): Promise<string>
  term(path: string, rules?: readonly (readonly [match: string, pattern: string])[], tenant?: string): Promise<string>
  workflow(name: string, conditions: unknown, actions: readonly unknown[]): Promise<string>
}

interface Options {
  readonly env?: Readonly<Record<string, string>>
  readonly slots?: number
  readonly kinds?: readonly string[]
}

export async function startDocumentWorkers(
  database: TestDatabase,
  { env = {}, slots = 2, kinds = ['document_process'] }: Options = {},
): Promise<DocumentWorkers> {
  const folder = await mkdtemp(join(tmpdir(), 'stellwerk-documents-'))
  const archiveDir = join(folder, 'archive')
  const workers = await startWorkers(database, {
    env: {
      STELLWERK_ARCHIVE_DIR: archiveDir,
      STELLWERK_KIND_DOCUMENT_PROCESS: '{"backoff": {"baseMs": 100, "maxMs": 1000, "jitter": 0.1}}',
      ...env,
    },
    dataDir: folder,
    slots,
    kinds,
  })
  const store = (bytes: Buffer, options?: StoreOptions) => storeDocument(database, archiveDir, bytes, options)

  const document: DocumentWorkers['document'] = async (id) => {
    const [row] = await database.sql(
      `select d.*, t.engine, t.engine_version, t.content, t.pages, t.ocr_confidence,
              (select coalesce(jsonb_object_agg(x.path, dt.source), '{}') from mdm.document_term dt join mdm.taxonomy_term x on x.id = dt.term_id where dt.document_id = d.id) as terms,
              (select coalesce(jsonb_object_agg(w.name, r.status), '{}') from mdm.document_workflow_run r join mdm.document_workflow w on w.id = r.workflow_id where r.document_id = d.id) as runs
         from mdm.documents d left join mdm.document_text t on t.document_id = d.id where d.id = $1`,
      [id],
    )
    return row as Awaited<ReturnType<DocumentWorkers['document']>>
  }
  return {
    ...workers,
    archiveDir,
    store,
    document,
    async read(bytes, options) {
      const { id, jobId } = await store(bytes, options)
      await ended(workers, jobId, 'done')
      return document(id)
    },
    async refused(bytes, options) {
      const stored = await store(bytes, options)
      const { lastError } = await ended(workers, stored.jobId, 'dlq')
      return { ...stored, lastError: lastError! }
    },
    async again(id) {
      const [row] = await database.sql<{ job: string }>('select mdm.process_document($1) as job', [id])
      await ended(workers, row!.job, 'done')
      return row!.job
    },
    async term(path, rules = [], tenant = 'default') {
      const [row] = await database.sql<{ id: string }>(
        `insert into mdm.taxonomy_term (tenant_id, path, name) select id, $2, $2 from mdm.aa_tenant where tenant_key = $1 returning id`,
        [tenant, path],
      )
      for (const [match, pattern] of rules)
        await database.sql(
          `insert into mdm.taxonomy_rule (tenant_id, term_id, match_type, pattern) select tenant_id, id, $2, $3 from mdm.taxonomy_term where id = $1`,
          [row!.id, match, pattern],
        )
      return row!.id
    },
    async workflow(name, conditions, actions) {
      const [row] = await database.sql<{ id: string }>(
        `insert into mdm.document_workflow (tenant_id, name, conditions, actions) select id, $1, $2, $3 from mdm.aa_tenant where tenant_key = 'default' returning id`,
        [name, JSON.stringify(conditions), JSON.stringify(actions)],
      )
      return row!.id
    },
    async stop() {
      await workers.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Puts a file into the archive and asks for it to be read, in one transaction. */
export async function storeDocument(
  database: Pick<TestDatabase, 'sql'>,
  archiveDir: string,
  bytes: Buffer,
  { filename = 'document.pdf', tenant = 'default', deriveTitle = true, sha256 }: StoreOptions = {},
): Promise<StoredDocument> {
  const archiveKey = `2026/11/${randomUUID()}`
  const stored = await createFolderArchive(archiveDir).intake.store(archiveKey, Readable.from([bytes]), {
    maxBytes: 2 ** 30,
  })
  const [row] = await database.sql<{ id: string }>(
    `insert into mdm.documents (tenant_id, archive_key, content_sha256, size_bytes, mime_type, filename)
     select id, $2, $3, $4, 'application/octet-stream', $5 from mdm.aa_tenant where tenant_key = $1 returning id`,
    [tenant, archiveKey, sha256 ?? stored.sha256, bytes.length, filename],
  )
  const [asked] = await database.sql<{ job: string }>('select mdm.process_document($1, $2) as job', [
    row!.id,
    deriveTitle,
  ])
  return { id: row!.id, jobId: asked!.job, archiveKey }
}

/** Throws at once where the job ended otherwise. */
async function ended(workers: Workers, jobId: string, wanted: 'done' | 'dlq') {
  return until(
    async () => {
      const job = await workers.job(jobId)
      if (job.status !== wanted && ['done', 'dlq', 'failed'].includes(job.status))
        throw new Error(`The job is ${job.status}: ${job.lastError ?? JSON.stringify(job.result)}`)
      return job.status === wanted ? job : null
    },
    `the job ${jobId} is ${wanted}`,
    60_000,
  )
}
