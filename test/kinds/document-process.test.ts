import { chmod, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documentProcess } from '../../src/jobs/built-in/document-process.ts'
import { createKindRooms } from '../../src/workers/kind-rooms.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startDocumentWorkers, type DocumentWorkers } from './document-support.ts'
import { hugePng, invoice, makePdf } from './documents.ts'

let database: TestDatabase
let workers: DocumentWorkers

beforeAll(async () => {
  database = await testDatabase()
  workers = await startDocumentWorkers(database)
})
afterAll(async () => {
  await workers?.stop()
  await database?.drop()
})

const lines = (texts: readonly string[]) => texts.map((text) => [text, text.startsWith('Rechnung') ? 18 : 11] as const)
const textPdf = (texts: readonly string[] = invoice, title?: string) =>
  makePdf([{ lines: lines(texts) }], title === undefined ? {} : { title })
const text = (content: string) => Buffer.from(content)
const journal = async (jobId: string) => {
  const rows = await database.sql<{ action: string }>(
    'select action from mdm.aa_audit_log where job_id = $1 order by id',
    [jobId],
  )
  return rows.map(({ action }) => action)
}
const eventsOf = async (id: string) =>
  database.sql<{ event_type: string; payload: Record<string, unknown> }>(
    'select event_type, payload from mdm.aa_outbox_event where aggregate_id = $1 order by id',
    [id],
  )

describe('acceptance', () => {
  test('KINDS 10.1: a PDF with text is read as it is, and its title is not the junk in its metadata', async () => {
    const read = await workers.read(textPdf(invoice, 'Microsoft Word - rechnung_final2.docx'), { filename: 'scan.pdf' })
    expect(read).toMatchObject({
      processing_status: 'done',
      engine: 'unpdf',
      ocr_confidence: null,
      title: 'Rechnung Nr. 2026-004711',
      title_source: 'content',
      language: 'de',
      page_count: 1,
    })
    expect(read.content).toContain('Königstraße 12, 80331 München')
    expect(await journal(read['job_id'] as string)).toEqual(
      expect.arrayContaining(['job_enqueued', 'document_processed', 'job_done']),
    )
  })

  test('KINDS 10.4: one byte that was flipped in the archive is an integrity violation, and nothing is derived', async () => {
    await workers.term('finance/flipped', [['any', 'Rechnung']])
    const bytes = textPdf()
    // Nothing takes it before the byte is flipped.
    await database.sql(`insert into mdm.aa_queue_pause (job_kind, paused_by) values ('document_process', 'test')`)
    await workers.rulesInForce()
    const flipped = await workers.store(bytes, { sha256: 'a'.repeat(64) })
    await database.sql('delete from mdm.aa_queue_pause')
    const job = await workers.reached(flipped.jobId, 'dlq', 20_000)
    expect(job).toMatchObject({ attempts: 1 })
    expect(job.lastError).toMatch(
      /^integrity_violation: The archived file is not the one that was stored: its SHA-256 is [0-9a-f]{64} instead of a{64}\. Restore/,
    )
    expect(await workers.document(flipped.id)).toMatchObject({
      processing_status: 'failed',
      processing_error: job.lastError,
      title: null,
      content: null,
      terms: {},
    })
    expect(await journal(flipped.jobId)).toContain('document_processed')
    expect(await eventsOf(flipped.id)).toEqual([])

    const stored = await workers.read(bytes)
    const path = join(workers.archiveDir, stored['archive_key'] as string)
    const broken = await readFile(path)
    broken[broken.length - 20]! ^= 1
    await chmod(path, 0o644)
    await writeFile(path, broken)
    const [again] = await database.sql<{ job: string }>('select mdm.process_document($1) as job', [stored['id']])
    expect((await workers.reached(again!.job, 'dlq')).lastError).toMatch(/^integrity_violation/)
  })

  test('KINDS 10.5: a term given by hand and a title of a person survive, terms of rules follow their rules', async () => {
    const invoiceTerm = await workers.term('finance/invoice', [['any', 'Rechnung']])
    await workers.term('finance/order', [['exact', 'Vielen Dank für Ihren Auftrag']])
    const manual = await workers.term('people/ada')
    const read = await workers.read(textPdf())
    const id = read['id'] as string
    expect(read.terms).toMatchObject({ 'finance/invoice': 'auto', 'finance/order': 'auto' })

    await database.sql(`update mdm.documents set title = 'Ours', title_source = 'user' where id = $1`, [id])
    await database.sql(`insert into mdm.document_term (document_id, term_id, source) values ($1, $2, 'manual')`, [
      id,
      manual,
    ])
    await database.sql(`update mdm.taxonomy_rule set pattern = 'Gutschrift' where term_id = $1`, [invoiceTerm])
    await workers.term('finance/furniture', [['any', 'Büromöbel']])
    await workers.again(id)

    const again = await workers.document(id)
    expect(again).toMatchObject({ title: 'Ours', title_source: 'user', run: 2 })
    expect(again.terms).toMatchObject({ 'finance/order': 'auto', 'people/ada': 'manual' })
    expect(again.terms).toHaveProperty('finance/furniture')
    expect(again.terms).not.toHaveProperty('finance/invoice')
  })

  test('KINDS 10.7: a damaged PDF is given up at once, and the process lives on', async () => {
    const broken = textPdf().subarray(0, 200)
    const { id, lastError } = await workers.refused(Buffer.concat([broken, Buffer.alloc(500, 7)]))
    expect(lastError).toMatch(/^corrupt_document: The PDF is damaged: .* store it again\.$/)
    expect(await workers.document(id)).toMatchObject({ processing_status: 'failed', processing_error: lastError })
    expect(await workers.read(text('Still here, and reading.'))).toMatchObject({ engine: 'text' })
  })

  test('KINDS 10.9: the rule (a+)+$ holds nobody up', async () => {
    await workers.term('traps/regex', [['regex', '(a+)+$']])
    await workers.term('traps/back', [['regex', '^(\\w+)-\\1$']])
    await workers.term('traps/broken', [['regex', '(unclosed']])
    const read = await workers.read(text(`${'a'.repeat(50_000)}!`), { filename: 'trap.txt' })
    expect(read.terms).not.toHaveProperty('traps/regex')
    expect(read.terms).not.toHaveProperty('traps/broken')
    const clean = await workers.read(text('word-word'), { filename: 'word.txt' })
    expect(clean.terms).toMatchObject({ 'traps/back': 'auto' })
  })
})

describe('what nobody can read', () => {
  test.each([
    ['nothing at all', Buffer.alloc(0), /^corrupt_document: The file is empty/],
    [
      'a Word file',
      Buffer.from('PK\x03\x04\x14\x00\x06\x00[Content_Types].xml', 'latin1'),
      /^unsupported_type: This is no PDF/,
    ],
    ['a program', Buffer.from('\x7fELF\x02\x01\x01\x00\x00\x00', 'latin1'), /^unsupported_type/],
    [
      'a picture of 40,000 x 40,000',
      hugePng(),
      /^too_large: The image has 40000 x 40000 pixels; at most 40 megapixels/,
    ],
    ['half a picture', hugePng().subarray(0, 18), /^corrupt_document: The file begins like image\/png but has no size/],
    [
      '501 pages',
      makePdf(Array.from({ length: 501 }, () => ({ lines: [] }))),
      /^too_large: The PDF has 501 pages; at most 500/,
    ],
    ['a PDF with a password', encryptedPdf(), /^encrypted_document: The PDF is protected by a password/],
  ])('%s goes to the dead-letter queue at once, with place and remedy', async (_, bytes, message) => {
    const { id, lastError, jobId } = await workers.refused(bytes)
    expect(lastError).toMatch(message)
    expect(lastError).toMatch(/\. [A-Z].*\.$/)
    expect(await workers.job(jobId)).toMatchObject({ attempts: 1 })
    expect(await workers.document(id)).toMatchObject({
      processing_status: 'failed',
      processing_error: lastError,
      content: null,
    })
  })

  test("a document of another tenant's is not found", async () => {
    const { id } = await workers.store(text('Mine.'))
    await database.sql(`insert into mdm.aa_tenant (tenant_key, name) values ('other', 'Other')`)
    const job = await workers.enqueue({ kind: 'document_process', tenant: 'other', payload: { document_id: id } })
    expect((await workers.reached(job, 'dlq')).lastError).toMatch(
      /^missing_document: The tenant of this job has no document/,
    )
  })

  test('a file that the archive does not have is tried again, with the reason', async () => {
    const { id, jobId, archiveKey } = await workers.store(text('Gone.'))
    await workers.reached(jobId, 'done', 20_000)
    await database.sql('update mdm.documents set archive_key = $2 where id = $1', [id, `${archiveKey}-gone`])
    const [again] = await database.sql<{ job: string }>('select mdm.process_document($1) as job', [id])
    const job = await workers.reached(again!.job, 'dlq', 20_000)
    expect(job).toMatchObject({ attempts: 4 })
    expect(job.lastError).toMatch(
      /The archive of this instance has no file .* Let all instances share STELLWERK_ARCHIVE_DIR/,
    )
  })
})

describe('rules', () => {
  test('each way of looking gives its term, stemmed and with umlauts', async () => {
    await workers.term('look/any', [['any', 'Tisch Stuhl']])
    await workers.term('look/all', [['all', 'Lieferung Möbel']])
    await workers.term('look/not-all', [['all', 'Lieferung Fahrrad']])
    await workers.term('look/exact', [['exact', 'größere Stühle']])
    await workers.term('look/not-exact', [['exact', 'Stühle größere']])
    await workers.term('look/regex', [['regex', 'KD-\\d{4}']])
    await workers.term('look/fuzzy', [['fuzzy', 'der Möbel und die größren Stühle']])
    await workers.term('look/off', [['any', 'Tisch']])
    await database.sql(`update mdm.taxonomy_rule set enabled = false where pattern = 'Tisch'`)
    const read = await workers.read(
      text('Für die Lieferungen der Möbel und die größeren Stühle danken wir. Ihre Kundennummer ist kd-4711.'),
      { filename: 'brief.txt' },
    )
    expect(Object.keys(read.terms).filter((path) => path.startsWith('look/'))).toEqual(
      expect.arrayContaining(['look/any', 'look/all', 'look/exact', 'look/regex', 'look/fuzzy']),
    )
    for (const path of ['look/not-all', 'look/not-exact', 'look/off']) expect(read.terms).not.toHaveProperty(path)
  })

  test('of an exclusive group a document gets one term, the best', async () => {
    await workers.term('year/2025', [['any', 'fuenfundzwanzig']])
    await workers.term('year/2026', [['regex', 'sechsundzwanzig']])
    await database.sql(`update mdm.taxonomy_term set exclusive_group = 'year' where path like 'year/%'`)
    const read = await workers.read(text('fuenfundzwanzig und sechsundzwanzig'), { filename: 'jahre.txt' })
    expect(Object.keys(read.terms).filter((path) => path.startsWith('year/'))).toEqual(['year/2026'])
  })
})

describe('workflows', () => {
  test('run once for a document, in order, and what they did commits with it', async () => {
    await workers.term('flow/added')
    await workers.term('flow/auto', [['any', 'Ablaufprobe']])
    await workers.workflow(
      'a first',
      {
        and: [
          { field: 'text', op: 'contains', value: 'ABLAUFPROBE' },
          { not: { field: 'filename', op: 'endsWith', value: '.pdf' } },
        ],
      },
      [
        { type: 'addTerm', path: 'flow/added' },
        { type: 'removeTerm', path: 'flow/auto' },
        { type: 'setTitle', title: 'Probe: {{ document.filename }}' },
        { type: 'setField', field: 'department', value: 'sales' },
      ],
    )
    await workers.workflow('b second', { field: 'terms', op: 'contains', value: 'flow' }, [
      {
        type: 'sendEmail',
        to: { address: 'ada@example.org' },
        content: { subject: '{{ document.title }}', text: 'Terms: {{ document.terms | join: ", " }}' },
      },
      { type: 'publishEvent', eventType: 'document.sorted', payload: { by: 'b' } },
      { type: 'reindex', entityType: 'article' },
    ])
    await workers.workflow('c never', { field: 'pageCount', op: 'atLeast', value: 1_000 }, [
      { type: 'setTitle', title: 'x' },
    ])
    await workers.workflow('d broken', { field: 'text', op: 'contains', value: 'Ablaufprobe' }, [
      { type: 'setField', field: 'half', value: true },
      { type: 'addTerm', path: 'flow/missing' },
    ])
    await database.sql(
      `insert into mdm.aa_webhook_subscription (tenant_id, created_by, url, event_types, secrets_enc, secrets_until)
       select id, 'test', 'https://example.org/', '{document.*}', '{x}', '{infinity}' from mdm.aa_tenant where tenant_key = 'default'`,
    )
    await database.sql(
      `insert into mdm.ddm_entity_type (tenant_id, type_key, name) select id, 'article', 'Article' from mdm.aa_tenant where tenant_key = 'default'`,
    )

    const read = await workers.read(text('Dies ist die Ablaufprobe und nicht mehr.'), { filename: 'probe.txt' })
    const id = read['id'] as string
    expect(read).toMatchObject({
      title: 'Probe: probe.txt',
      title_source: 'user',
      fields: { department: 'sales' },
      runs: { 'a first': 'done', 'b second': 'done', 'd broken': 'failed' },
    })
    expect(read['runs']).not.toHaveProperty('c never')
    expect(read.terms).toMatchObject({ 'flow/added': 'workflow' })
    expect(read.terms).not.toHaveProperty('flow/auto')

    const about = {
      document_id: id,
      title: 'Probe: probe.txt',
      filename: 'probe.txt',
      terms: ['flow/added'],
      page_count: 1,
    }
    expect(await eventsOf(id)).toEqual([
      { event_type: 'document.sorted', payload: { by: 'b', ...about } },
      { event_type: 'document.processed', payload: about },
    ])
    expect(await database.sql(`select 1 from mdm.aa_job where job_kind = 'reindex'`)).toHaveLength(1)

    await workers.again(id)
    const again = await workers.document(id)
    expect(again.terms).not.toHaveProperty('flow/auto')
    expect(again).toMatchObject({ title: 'Probe: probe.txt' })
    const mails = await database.sql<{ payload: { content: unknown } }>(
      `select payload from mdm.aa_job where job_kind = 'email_send' and idempotency_key like $1`,
      [`document:${id}:%`],
    )
    expect(mails.map(({ payload }) => payload.content)).toEqual([
      { subject: 'Probe: probe.txt', text: 'Terms: flow/added' },
    ])
    expect((await eventsOf(id)).map(({ event_type: type }) => type)).toEqual([
      'document.sorted',
      'document.processed',
      'document.processed',
    ])
    const [failed] = await database.sql<{ result: { error: string } }>(
      `select r.result from mdm.document_workflow_run r join mdm.document_workflow w on w.id = r.workflow_id where r.document_id = $1 and w.name = 'd broken'`,
      [id],
    )
    expect(failed!.result.error).toBe('There is no term flow/missing.')
  })
})

describe('a document follows its job', () => {
  test('stopped, it is given up with the reason; replayed, it waits again', async () => {
    const { id, jobId } = await workers.store(textPdf())
    await workers.reached(jobId, 'done', 20_000)
    await database.sql(`update mdm.documents set processing_status = 'pending' where id = $1`, [id])
    await database.sql(
      `update mdm.aa_job set status = 'failed', completed_at = now(), last_error = 'no more' where id = $1`,
      [jobId],
    )
    expect(await workers.document(id)).toMatchObject({ processing_status: 'failed', processing_error: 'no more' })
    await database.sql(
      `update mdm.aa_job set status = 'pending', attempts = 0, available_at = now() + interval '1 hour' where id = $1`,
      [jobId],
    )
    expect(await workers.document(id)).toMatchObject({ processing_status: 'pending', processing_error: null })
    await database.sql('delete from mdm.aa_job where id = $1', [jobId])
    expect(await workers.document(id)).toMatchObject({ processing_status: 'failed' })
  })
})

test('one instance reads on all cores but one, where there is more than one', () => {
  const handler = async () => undefined
  const rooms = createKindRooms(new Map([['document_process', { kind: documentProcess, handler }]]))
  expect(rooms.open(['document_process'])).toEqual({
    kinds: ['document_process'],
    most: Math.max(1, availableParallelism() - 1),
  })
})

test('steps: a title alone is derived from the text of the last reading', async () => {
  const read = await workers.read(textPdf(), { deriveTitle: false })
  expect(read).toMatchObject({ title: null })
  const id = read['id'] as string
  const job = await workers.enqueue({ kind: 'document_process', payload: { document_id: id, steps: ['title'] } })
  expect((await workers.reached(job, 'done', 20_000)).result).toMatchObject({ engine: null, titleSource: 'content' })
  expect(await workers.document(id)).toMatchObject({ title: 'Rechnung Nr. 2026-004711', page_count: 1 })
})

/** Standard security handler, revision 2, with a password that nobody knows: the hashes fit none. */
function encryptedPdf(): Buffer {
  const hash = (byte: string) => `<${byte.repeat(64)}>`
  const id = '<00112233445566778899aabbccddeeff>'
  const trailer = `/ID[${id}${id}]/Encrypt<</Filter/Standard/V 1/R 2/O ${hash('3')}/U ${hash('5')}/P -44>>`
  return makePdf([{ lines: lines(invoice) }], { trailer })
}
