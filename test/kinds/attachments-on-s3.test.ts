import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createS3Store } from '../../src/objects/s3-store.ts'
import { startClamdScript, type ClamdScript } from '../support/clamd-script.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startS3Server, type S3Server } from '../support/s3-server.ts'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let s3: S3Server
let clamd: ClamdScript
let database: TestDatabase
let service: Service
let dataDir: string
let url: string
let token: string

beforeAll(async () => {
  s3 = await startS3Server()
  clamd = await startClamdScript()
  database = await testDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-s3-service-'))
  const { bucket, endpoint, accessKeyId, secretAccessKey, prefix } = s3.settings
  service = startService({
    dataDir,
    settings: {
      DATABASE_URL: database.url,
      STELLWERK_ENV: 'development',
      CLAMD_URL: clamd.url,
      STELLWERK_S3_BUCKET: bucket,
      STELLWERK_S3_ENDPOINT: endpoint!,
      STELLWERK_S3_ACCESS_KEY_ID: accessKeyId!,
      STELLWERK_S3_SECRET_ACCESS_KEY: secretAccessKey!,
      STELLWERK_S3_PREFIX: prefix!,
      STELLWERK_S3_PATH_STYLE: 'on',
      STELLWERK_KIND_VIRUS_SCAN: '{"backoff": {"baseMs": 100, "maxMs": 1000, "jitter": 0.1}}',
    },
  })
  await service.started()
  url = await service.url()
  token = await service.token()
})
afterAll(async () => {
  await service?.stop()
  await clamd?.stop()
  await s3?.stop()
  await database?.drop()
  await rm(dataDir, { recursive: true, force: true })
})
afterEach(() => {
  clamd.answer = () => undefined
})

// What a test asks for it knows the shape of.
// oxlint-disable-next-line typescript/no-explicit-any
const ask = async (query: string, variables: object): Promise<any> => {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors } = (await answer.json()) as { data: unknown; errors?: unknown }
  expect(errors).toBeUndefined()
  return data
}
const fields = 'id virusScanStatus virusSignature sha256 downloadUrl'
const request = async (text: string) => {
  const { requestUpload } = await ask(
    `mutation ($input: RequestUploadInput!) { requestUpload(input: $input) { attachment { id } uploadUrl uploadHeaders errors { message } } }`,
    { input: { filename: 'a.txt', sizeBytes: text.length, contentType: 'text/plain' } },
  )
  expect(requestUpload.errors).toEqual([])
  const { attachment, uploadUrl, uploadHeaders } = requestUpload
  const put = async (body: string): Promise<number> =>
    (await fetch(uploadUrl, { method: 'PUT', headers: uploadHeaders, body })).status
  const commit = async () =>
    (
      await ask(`mutation ($id: ID!) { commitUpload(id: $id) { attachment { ${fields} } errors { message } } }`, {
        id: attachment.id,
      })
    ).commitUpload
  return { id: attachment.id as string, uploadUrl: uploadUrl as string, put, commit }
}
const judged = (id: string) =>
  until(async () => {
    const { node } = await ask(`query ($id: ID!) { node(id: $id) { ... on Attachment { ${fields} } } }`, { id })
    return ['PENDING', 'SCANNING'].includes(node.virusScanStatus) ? null : node
  }, 'it is judged')
/** For a failure: what the jobs say. */
const why = async () =>
  JSON.stringify(
    await database.sql(`select status, attempts, last_error from mdm.aa_job where job_kind = 'virus_scan' order by id`),
  )
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

test('bytes go to the bucket and come from it; nothing of them passes through here but to the scanner', async () => {
  const upload = await request('hello')
  expect(new URL(upload.uploadUrl).origin).toBe(s3.settings.endpoint)
  expect(await upload.put('hello')).toBe(200)
  expect((await upload.commit()).errors).toEqual([])
  const clean = await judged(upload.id)
  expect(clean, await why()).toMatchObject({ virusScanStatus: 'CLEAN', sha256: sha256('hello') })
  expect(new URL(clean.downloadUrl).origin).toBe(s3.settings.endpoint)
  const answer = await fetch(clean.downloadUrl)
  expect(await answer.text()).toBe('hello')
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="a.txt"')
  expect((await fetch(`${url}/uploads/x`)).status).toBe(404)
})

test('KINDS 7.4: overwritten after the commit: an error, or what was scanned', async () => {
  await database.sql(`insert into mdm.aa_queue_pause (job_kind, paused_by) values ('virus_scan', 'test')`)
  const upload = await request('good!')
  await upload.put('good!')
  expect((await upload.commit()).errors).toEqual([])
  await upload.put('evil!')
  await database.sql('delete from mdm.aa_queue_pause')
  const found = await judged(upload.id)
  expect(found.virusScanStatus === 'ERROR' || found.sha256 === sha256('good!')).toBe(true)
})

test('KINDS 7.4: overwritten during and after the scan: what is served is what was scanned', async () => {
  const upload = await request('good!')
  clamd.answer = async (bytes) => {
    expect(await upload.put('evil!')).toBe(200)
    return String(bytes) === 'good!' ? undefined : 'stream: Evil FOUND'
  }
  await upload.put('good!')
  expect((await upload.commit()).errors).toEqual([])
  const clean = await judged(upload.id)
  await upload.put('evil!')
  expect(clean, await why()).toMatchObject({ virusScanStatus: 'CLEAN', sha256: sha256('good!') })
  expect(await (await fetch(clean.downloadUrl)).text()).toBe('good!')
})

test('an infected one lies in quarantine, under no URL', async () => {
  clamd.answer = () => 'stream: Evil FOUND'
  const upload = await request('evil!')
  await upload.put('evil!')
  expect((await upload.commit()).errors).toEqual([])
  const found = await judged(upload.id)
  expect(found, await why()).toMatchObject({ virusScanStatus: 'INFECTED', downloadUrl: null })
  const [row] = await database.sql<{ key: string; store: string }>(
    'select object_key as key, store from mdm.ddm_attachment where id = $1',
    [upload.id.replace('attachment_', '')],
  )
  expect(row!.store).toBe('s3:objects/stellwerk')
  const store = createS3Store(s3.settings)
  expect(await store.stat(row!.key)).not.toBeNull()
  store.close()
})
