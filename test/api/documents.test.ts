import { createHash, randomUUID } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Scope } from '../../src/jobs/permissions.ts'
import { receiveDocument } from '../../src/resolvers/receive-document.ts'
import { caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let acme: string
let other: string

beforeAll(async () => {
  api = await testApi()
  acme = await api.tenant('acme')
  other = await api.tenant('other')
})
afterAll(() => api.stop())

const acmes = (may?: readonly Scope[]) => caller({ tenantIds: [acme], ...(may && { may }) })
const others = () => caller({ tenantIds: [other] })

/** A document that was read, without its file. */
async function made(tenantId: string, title: string, content: string, language: string | null = 'de'): Promise<string> {
  const [row] = await api.sql<{ id: string }>(
    `insert into mdm.documents (tenant_id, archive_key, content_sha256, size_bytes, mime_type, filename, title, title_source, language, page_count, processing_status)
     values ($1, $2, $3, 1234, 'application/pdf', 'a.pdf', $4, 'content', $5, 2, 'done') returning id`,
    [tenantId, randomUUID(), 'a'.repeat(64), title, language],
  )
  await api.sql(
    `insert into mdm.document_text (document_id, engine, ocr_confidence, content, content_tsv) values ($1, 'tesseract', 0.875, $2, mdm.document_vector($3, $4, $2))`,
    [row!.id, content, language, title],
  )
  return row!.id
}

describe('documents', () => {
  test('are found by their words, the best first, stemmed in their own language; and page by page', async () => {
    const weak = await made(acme, 'Brief', 'Wir danken. Die Rechnungen folgen getrennt, wie besprochen.')
    const strong = await made(acme, 'Rechnung 7', 'Rechnung für die Lieferung der Rechnungsbücher.')
    const english = await made(acme, 'Letter', 'The invoices follow separately.', 'en')
    await made(other, 'Rechnung', 'Rechnung eines anderen.')
    const query = `query ($search: String, $first: Int!, $after: String) {
      documents(search: $search, first: $first, after: $after) { edges { cursor node { id title } } pageInfo { hasNextPage endCursor } } }`
    const first = await api.run(query, { search: 'rechnung', first: 1 }, acmes())
    expect(first.data.documents.edges.map((edge: { node: unknown }) => edge.node)).toEqual([
      { id: `document_${strong}`, title: 'Rechnung 7' },
    ])
    const { endCursor } = first.data.documents.pageInfo
    const second = await api.run(query, { search: 'rechnung', first: 1, after: endCursor }, acmes())
    expect(second.data.documents).toMatchObject({
      edges: [{ node: { id: `document_${weak}` } }],
      pageInfo: { hasNextPage: false },
    })
    const inEnglish = await api.run(query, { search: 'invoice', first: 5 }, acmes())
    expect(inEnglish.data.documents.edges).toMatchObject([{ node: { id: `document_${english}` } }])
    const all = await api.run(query, { first: 2 }, acmes())
    expect(all.data.documents.edges.map((edge: { node: { id: string } }) => edge.node.id)).toEqual([
      `document_${english}`,
      `document_${strong}`,
    ])
    const stray = await api.run(
      query,
      { search: 'rechnung', first: 1, after: all.data.documents.pageInfo.endCursor },
      acmes(),
    )
    expect(codeOf(stray)).toBe('BAD_USER_INPUT')
    for (const search of ["'", '"', '!&|()<->', 'a'.repeat(400), '\\', '-'])
      expect((await api.run(query, { search, first: 1 }, acmes())).errors).toEqual([])
    expect(codeOf(await api.run(query, { search: 'a\0b', first: 1 }, acmes()))).toBe('BAD_USER_INPUT')
  })

  test('show what was read, and nothing to others or to those who may not read payloads', async () => {
    const id = await made(acme, 'Vertrag', 'Der ganze Text.')
    const query = `query ($id: ID!) { node(id: $id) { ... on Document {
      filename contentType sizeBytes sha256 title titleSource language pageCount text engine confidence processingStatus processingError
      tenant { key } terms { automatic } job { id } } } }`
    const answer = await api.run(query, { id: `document_${id}` }, acmes())
    expect(answer.data.node).toEqual({
      filename: 'a.pdf',
      contentType: 'application/pdf',
      sizeBytes: 1234,
      sha256: 'a'.repeat(64),
      title: 'Vertrag',
      titleSource: 'CONTENT',
      language: 'de',
      pageCount: 2,
      text: 'Der ganze Text.',
      engine: 'tesseract',
      confidence: 0.875,
      processingStatus: 'DONE',
      processingError: null,
      tenant: { key: 'acme' },
      terms: [],
      job: null,
    })
    expect((await api.run(query, { id: `document_${id}` }, others())).data.node).toBeNull()
    expect(codeOf(await api.run(query, { id: `document_${id}` }, acmes(['READ_JOBS'])))).toBe('FORBIDDEN')
  })

  test('are filtered by term, with those below it, and by status', async () => {
    const tenant = await api.tenant('filters')
    const who = caller({ tenantIds: [tenant] })
    const id = await made(tenant, 'A', 'x')
    const waiting = await made(tenant, 'B', 'y')
    await api.sql(`update mdm.documents set processing_status = 'processing' where id = $1`, [waiting])
    await api.run(setTerm, { input: { path: 'finance/invoice/open', name: 'Open', rules: [] } }, who)
    await api.run(setTerm, { input: { path: 'finance/invoices', name: 'No', rules: [] } }, who)
    const given = await api.run(update, { input: { id: `document_${id}`, termPaths: ['finance/invoice/open'] } }, who)
    expect(given.data.updateDocument.errors).toEqual([])
    const found = async (args: string) =>
      (await api.run(`{ documents(${args}) { nodes { title } } }`, {}, who)).data.documents.nodes
    expect(await found('termPath: "finance/invoice"')).toEqual([{ title: 'A' }])
    expect(await found('termPath: "finance/invoices"')).toEqual([])
    expect(await found('status: [DONE]')).toEqual([{ title: 'A' }])
    // Its job is not running: whatever its row says, it waits.
    expect(await found('status: [PENDING]')).toEqual([{ title: 'B' }])
    expect(await found('status: [PROCESSING, FAILED]')).toEqual([])
  })
})

const setTerm = `mutation ($input: TaxonomyTermInput!) { setTaxonomyTerm(input: $input) {
  term { id path name rules { id match pattern enabled } } errors { __typename message path } } }`
const setWorkflow = `mutation ($input: DocumentWorkflowInput!) { setDocumentWorkflow(input: $input) {
  workflow { id name conditions actions enabled } errors { message path ... on ValidationError { pointer } } } }`
const update = `mutation ($input: UpdateDocumentInput!) { updateDocument(input: $input) {
  document { title titleSource terms { term { path } automatic } job { id } processingStatus } errors { __typename message path } } }`
const reprocess = `mutation ($id: ID!, $reason: String) { reprocessDocument(id: $id, reason: $reason) {
  document { processingStatus job { id kind { name } priority } } errors { __typename message path } } }`

describe('terms', () => {
  test('are made and changed by path; equal rules stay the same', async () => {
    const rules = [
      { match: 'ANY', pattern: 'Rechnung' },
      { match: 'REGEX', pattern: '\\d{4}-\\d{6}' },
    ]
    const made1 = await api.run(setTerm, { input: { path: 'finance/invoice', name: 'Invoice', rules } }, acmes())
    const { term, errors } = made1.data.setTaxonomyTerm
    expect(errors).toEqual([])
    expect(term).toMatchObject({
      path: 'finance/invoice',
      rules: [{ match: 'ANY', enabled: true }, { match: 'REGEX' }],
    })
    const changed = await api.run(
      setTerm,
      {
        input: {
          path: 'finance/invoice',
          name: 'Invoices',
          rules: [
            { ...rules[1], enabled: false },
            { match: 'FUZZY', pattern: 'Faktura' },
          ],
        },
      },
      acmes(),
    )
    const after = changed.data.setTaxonomyTerm.term
    expect(after).toMatchObject({ id: term.id, name: 'Invoices' })
    expect(after.rules).toHaveLength(2)
    expect(after.rules).toContainEqual({ ...term.rules[1], enabled: false })
    const listed = await api.run('{ taxonomyTerms { path } }', {}, acmes())
    expect(listed.data.taxonomyTerms).toEqual([{ path: 'finance/invoice' }])
    expect((await api.run('{ taxonomyTerms { path } }', {}, others())).data.taxonomyTerms).toEqual([])
    const nodes = await api.run(
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on TaxonomyTerm { path } ... on TaxonomyRule { pattern } } }',
      { ids: [term.id, term.rules[1].id] },
      acmes(),
    )
    expect(nodes.data.nodes).toMatchObject([{ path: 'finance/invoice' }, { pattern: '\\d{4}-\\d{6}' }])
    const [entry] = await api.sql(
      `select actor_principal_id as actor from mdm.aa_audit_log where action = 'metadata_change' and payload ? 'taxonomy_term_id' and tenant_id = $1`,
      [acme],
    )
    expect(entry).toEqual({ actor: 'user:ada' })
  })

  test.each([
    [{ path: '/finance', name: 'x', rules: [] }, ['path'], /of the form finance\/invoice/],
    [{ path: '', name: ' ', rules: [] }, ['path'], /must not be empty/],
    [
      { path: 'a', name: 'a', rules: [{ match: 'REGEX', pattern: '(open' }] },
      ['rules', '0', 'pattern'],
      /no regular expression/,
    ],
    [{ path: 'a', name: 'a', rules: [{ match: 'ANY', pattern: 'a\0b' }] }, ['rules', '0', 'pattern'], /NUL/],
    [
      { path: 'a', name: 'a', rules: [{ match: 'ANY', pattern: 'x'.repeat(1_001) }] },
      ['rules', '0', 'pattern'],
      /at most 1000/,
    ],
  ])('%j is refused with its place', async (input, path, message) => {
    const { term, errors } = (await api.run(setTerm, { input }, acmes())).data.setTaxonomyTerm
    expect(term).toBeNull()
    expect(errors[0]).toMatchObject({ path, message: expect.stringMatching(message) })
  })
})

describe('workflows', () => {
  test('are made and changed by name', async () => {
    await api.run(setTerm, { input: { path: 'inbox', name: 'Inbox', rules: [] } }, acmes())
    const input = {
      name: 'sort',
      conditions: { field: 'title', op: 'contains', value: 'Rechnung' },
      actions: [{ type: 'addTerm', path: 'inbox' }],
    }
    const { workflow, errors } = (await api.run(setWorkflow, { input }, acmes())).data.setDocumentWorkflow
    expect(errors).toEqual([])
    expect(workflow).toMatchObject({ ...input, enabled: true })
    const again = await api.run(setWorkflow, { input: { ...input, enabled: false, conditions: {} } }, acmes())
    expect(again.data.setDocumentWorkflow.workflow).toMatchObject({ id: workflow.id, enabled: false, conditions: {} })
    const listed = await api.run('{ documentWorkflows { id name } }', {}, acmes())
    expect(listed.data.documentWorkflows).toEqual([{ id: workflow.id, name: 'sort' }])
    expect((await api.run('{ documentWorkflows { id } }', {}, others())).data.documentWorkflows).toEqual([])
    const node = await api.run(
      'query ($id: ID!) { node(id: $id) { ... on DocumentWorkflow { name } } }',
      { id: workflow.id },
      acmes(),
    )
    expect(node.data.node).toEqual({ name: 'sort' })
  })

  test.each([
    [
      {
        conditions: { field: 'body', op: 'contains', value: 'x' },
        actions: [{ type: 'setField', field: 'a', value: 1 }],
      },
      'conditions',
      '',
    ],
    [{ conditions: {}, actions: [] }, 'actions', ''],
    [{ conditions: {}, actions: [{ type: 'runCode', code: '1' }] }, 'actions', '/0/type'],
    [{ conditions: {}, actions: [{ type: 'setTitle', title: '{{ broken' }] }, 'actions', '/0/title'],
    [
      {
        conditions: {},
        actions: [{ type: 'sendEmail', to: { address: 'a@x\r\nBcc: b@y' }, content: { subject: 's', text: 't' } }],
      },
      'actions',
      '/0/to/address',
    ],
    [{ conditions: {}, actions: [{ type: 'addTerm', path: 'not/there' }] }, 'actions', '/0/path'],
  ])('%j is refused with its place', async (input, field, pointer) => {
    const { workflow, errors } = (await api.run(setWorkflow, { input: { name: 'bad', ...input } }, acmes())).data
      .setDocumentWorkflow
    expect(workflow).toBeNull()
    expect(errors[0]).toMatchObject({ path: [field], pointer })
  })
})

describe('a person', () => {
  test('gives a title and terms; an empty hand derives the title anew', async () => {
    const id = `document_${await made(acme, 'Derived', 'Text.')}`
    await api.run(setTerm, { input: { path: 'people/ada', name: 'Ada', rules: [] } }, acmes())
    const given = await api.run(update, { input: { id, title: ' Ours ', termPaths: ['people/ada'] } }, acmes())
    expect(given.data.updateDocument).toMatchObject({
      document: {
        title: 'Ours',
        titleSource: 'USER',
        terms: [{ term: { path: 'people/ada' }, automatic: false }],
        job: null,
      },
      errors: [],
    })
    expect((await api.run('{ documents(search: "ours") { nodes { id } } }', {}, acmes())).data.documents.nodes).toEqual(
      [{ id }],
    )
    const cleared = await api.run(update, { input: { id, title: null, termPaths: [] } }, acmes())
    expect(cleared.data.updateDocument).toMatchObject({
      document: { title: null, titleSource: null, terms: [], processingStatus: 'PENDING' },
      errors: [],
    })
    expect(cleared.data.updateDocument.document.job).not.toBeNull()
    const refused = await api.run(update, { input: { id, termPaths: ['people/ada', 'people/nobody'] } }, acmes())
    expect(refused.data.updateDocument).toMatchObject({
      document: null,
      errors: [{ __typename: 'NotFoundError', path: ['termPaths', '1'] }],
    })
    const stranger = await api.run(update, { input: { id, title: 'Theirs' } }, others())
    expect(stranger.data.updateDocument.errors).toMatchObject([{ __typename: 'NotFoundError', path: ['id'] }])
  })

  test('has a document read again, one job at a time, audited with the reason', async () => {
    const id = await made(acme, 'Again', 'Text.')
    const asked = await api.run(reprocess, { id: `document_${id}`, reason: 'new rules' }, acmes())
    expect(asked.data.reprocessDocument).toMatchObject({
      document: { processingStatus: 'PENDING', job: { kind: { name: 'document_process' }, priority: 110 } },
      errors: [],
    })
    const twice = await api.run(reprocess, { id: `document_${id}` }, acmes())
    expect(twice.data.reprocessDocument).toMatchObject({
      document: null,
      errors: [{ __typename: 'ConflictError', path: ['id'] }],
    })
    const [job] = await api.sql(
      `select idempotency_key as key, payload from mdm.aa_job where payload ->> 'document_id' = $1`,
      [id],
    )
    expect(job).toEqual({ key: `doc:${id}:1`, payload: { document_id: id, derive_title: true } })
    const [entry] = await api.sql(
      `select actor_principal_id as actor, reason from mdm.aa_audit_log where action = 'metadata_change' and payload ->> 'document_id' = $1`,
      [id],
    )
    expect(entry).toEqual({ actor: 'user:ada', reason: 'new rules' })
    const stranger = await api.run(reprocess, { id: `document_${id}` }, others())
    expect(stranger.data.reprocessDocument.errors).toMatchObject([{ __typename: 'NotFoundError' }])
  })

  test('enqueues it typed, by node id', async () => {
    const id = await made(acme, 'Typed', 'Text.')
    const mutation = `mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { job { payload } errors { message path } } }`
    const enqueued = await api.run(
      mutation,
      { input: { job: { documentProcess: { documentId: `document_${id}` } } } },
      acmes(),
    )
    expect(enqueued.data.enqueueJob).toEqual({ job: { payload: { document_id: id, derive_title: true } }, errors: [] })
    const bad = await api.run(mutation, { input: { job: { documentProcess: { documentId: 'nonsense' } } } }, acmes())
    expect(bad.data.enqueueJob.errors).toMatchObject([{ path: ['job', 'documentProcess'] }])
  })
})

describe('storing', () => {
  const bytes = Buffer.from('%PDF-1.4 something')
  const context = (who = acmes()) => api.contextFor(who)
  const file = (body: Buffer = bytes) => ({
    filename: 'r\u0000echnung.pdf',
    contentType: 'text/html',
    body: Readable.from([body]),
  })

  test('the row and its job come together, the file lies in the archive, unwritable', async () => {
    const reception = receiveDocument(context())
    const stored = await reception.store(file())
    const { documentId, jobId } = await reception.accept(stored, { deriveTitle: 'false', tenant: undefined })
    const [row] = await api.sql('select * from mdm.documents where id = $1', [documentId.replace('document_', '')])
    expect(row).toMatchObject({
      tenant_id: acme,
      filename: 'rechnung.pdf',
      mime_type: 'application/pdf',
      size_bytes: String(bytes.length),
      content_sha256: createHash('sha256').update(bytes).digest('hex'),
      uploaded_by: 'user:ada',
      run: 1,
      job_id: jobId.replace('job_', ''),
    })
    const [job] = await api.sql('select payload, trace_context, enqueued_by from mdm.aa_job where id = $1', [
      row!['job_id'],
    ])
    expect(job).toMatchObject({
      payload: { derive_title: false },
      enqueued_by: 'user:ada',
      trace_context: expect.stringContaining('0af7651916cd43dd8448eb211c80319c'),
    })
    expect((await stat(join(api.archiveDir, row!['archive_key'] as string))).mode & 0o777).toBe(0o444)
  })

  test('what is refused leaves neither file nor row', async () => {
    const reception = receiveDocument(context())
    for (const form of [
      { deriveTitle: 'perhaps', tenant: undefined },
      { deriveTitle: undefined, tenant: 'other' },
      { deriveTitle: undefined, tenant: 'nobody' },
    ]) {
      const before = await files()
      const stored = await reception.store(file())
      await expect(reception.accept(stored, form)).rejects.toMatchObject({
        code: expect.stringMatching(/BAD_USER_INPUT|NOT_FOUND/),
      })
      expect(await files()).toEqual(before)
    }
    const before = await files()
    await expect(reception.store(file(Buffer.alloc(api.deps.maxUploadBytes + 1)))).rejects.toMatchObject({
      code: 'OBJECT_TOO_LARGE',
    })
    expect(await files()).toEqual(before)
    expect(() => receiveDocument(context(acmes(['READ_JOBS'])))).toThrow(/ENQUEUE_JOBS/)
  })

  test('a closed tenant is refused, and its file goes', async () => {
    const closed = await api.tenant('closed')
    await api.sql(`update mdm.aa_tenant set status = 'closed' where id = $1`, [closed])
    const before = await files()
    const reception = receiveDocument(context(caller({ tenantIds: [closed] })))
    await expect(
      reception.accept(await reception.store(file()), { deriveTitle: undefined, tenant: undefined }),
    ).rejects.toThrow(/closed/)
    expect(await files()).toEqual(before)
    expect(await api.sql('select 1 from mdm.documents where tenant_id = $1', [closed])).toEqual([])
  })

  const files = async () => (await readdir(api.archiveDir, { recursive: true })).toSorted()
})
