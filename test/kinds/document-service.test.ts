import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { invoice, makePdf } from './documents.ts'

let database: TestDatabase
let dataDir: string
let app: Awaited<ReturnType<typeof createApp>>
let url: string
let token: string

beforeAll(async () => {
  database = await testDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-documents-'))
  app = await createApp({
    settings: {
      DATABASE_URL: database.url,
      STELLWERK_DATA_DIR: dataDir,
      STELLWERK_ENV: 'development',
      STELLWERK_MAX_UPLOAD_MB: '1',
      PORT: '0',
      LOG_LEVEL: 'silent',
    },
  })
  ;({ url } = await app.start())
  token = (await readFile(join(dataDir, 'admin.token'), 'utf8')).trim()
})
afterAll(async () => {
  await app.stop()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

const pdf = makePdf([{ lines: invoice.map((line) => [line, line.startsWith('Rechnung') ? 18 : 11] as const) }])

// What a test asks for it knows the shape of.
// oxlint-disable-next-line typescript/no-explicit-any
type Body = any

async function post(
  form: FormData | string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Body }> {
  const answer = await fetch(`${url}/documents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: form,
  })
  return { status: answer.status, body: await answer.json() }
}

function form(fields: Readonly<Record<string, string>> = {}, bytes: Buffer = pdf): FormData {
  const made = new FormData()
  for (const [name, value] of Object.entries(fields)) made.append(name, value)
  made.append('file', new Blob([new Uint8Array(bytes)], { type: 'application/octet-stream' }), 'größe.pdf')
  return made
}

// What a test asks for it knows the shape of.
// oxlint-disable-next-line typescript/no-explicit-any
async function graphql(query: string, variables: object = {}): Promise<any> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  })
  return answer.json()
}

const archived = async () =>
  (await readdir(join(dataDir, 'archive'), { recursive: true, withFileTypes: true }).catch(() => [])).filter((entry) =>
    entry.isFile(),
  ).length

test('a document is sent, read and found, with its progress', { timeout: 60_000 }, async () => {
  const { status, body } = await post(form({ tenant: 'default', deriveTitle: 'true' }))
  expect(status).toBe(201)
  expect(body).toEqual({ documentId: expect.stringMatching(/^document_/), jobId: expect.stringMatching(/^job_/) })
  const read = await until(
    async () => {
      const { data } = await graphql(
        `
          query ($id: ID!) {
            node(id: $id) {
              ... on Document {
                filename
                contentType
                title
                engine
                processingStatus
                job {
                  status
                  progress {
                    current
                    total
                    message
                  }
                }
              }
            }
          }
        `,
        { id: body.documentId },
      )
      return data.node.processingStatus === 'DONE' && data.node.job.status === 'DONE' ? data.node : null
    },
    'the document is read',
    30_000,
  )
  expect(read).toEqual({
    filename: 'größe.pdf',
    contentType: 'application/pdf',
    title: 'Rechnung Nr. 2026-004711',
    engine: 'unpdf',
    processingStatus: 'DONE',
    job: { status: 'DONE', progress: { current: 1, total: 1, message: '1 of 1 pages read' } },
  })
  const { data } = await graphql('{ documents(search: "Büromöbel") { nodes { id } } }')
  expect(data.documents.nodes).toEqual([{ id: body.documentId }])
  const audit = await graphql('{ auditLog(filter: { action: [DOCUMENT_PROCESSED] }, first: 5) { nodes { action } } }')
  expect(audit.data.auditLog.nodes).toEqual([{ action: 'DOCUMENT_PROCESSED' }])
})

test('what is refused says why and leaves no file in the archive', async () => {
  const before = await archived()
  const refusals: [FormData | string, Record<string, string>, number, RegExp][] = [
    [form({ deriveTitle: 'perhaps' }), {}, 400, /deriveTitle must be true or false/],
    [form({ tenant: 'nobody' }), {}, 400, /No such tenant among yours/],
    [form({ color: 'red' }), {}, 400, /color/],
    [new FormData(), {}, 400, /./],
    ['{}', { 'content-type': 'application/json' }, 415, /multipart\/form-data/],
    [form({}, Buffer.alloc(1024 * 1024 + 1)), {}, 413, /STELLWERK_MAX_UPLOAD_MB/],
    [form(), { authorization: '' }, 401, /Nobody is signed in/],
    [form(), { authorization: 'Bearer nonsense' }, 401, /./],
  ]
  for (const [body, headers, status, message] of refusals) {
    const refused = await post(body, headers)
    expect(refused.status, String(message)).toBe(status)
    expect(refused.body.errors[0].message).toMatch(message)
    expect(refused.body.errors[0].extensions.requestId).toBeTypeOf('string')
  }
  expect(await archived()).toBe(before)
})

test('a client that goes away in the middle leaves nothing', async () => {
  const before = await archived()
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.write(
    `POST /documents HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 100000\r\n\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.4 ...`,
  )
  await until(async () => (await archived()) > before, 'the file has begun')
  socket.destroy()
  await until(async () => (await archived()) === before, 'the file is gone')
  expect(await database.sql(`select 1 from mdm.documents where filename = 'a.pdf'`)).toEqual([])
})
