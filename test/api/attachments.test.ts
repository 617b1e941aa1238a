import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '../../src/jobs/permissions.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let defaultId: string
let otherId: string

beforeAll(async () => {
  api = await testApi()
  const [row] = await api.sql<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`)
  defaultId = row!.id
  otherId = await api.tenant('other')
})
afterAll(() => api?.stop())

const errors = 'errors { __typename message path ... on LimitError { limit actual } ... on NotFoundError { id } }'
const fields =
  'id tenant { key } filename sizeBytes contentType sha256 virusScanStatus virusSignature scannedAt downloadUrl job { id kind { name } priority }'
const requestUpload = `mutation ($input: RequestUploadInput!) { requestUpload(input: $input) { attachment { ${fields} } uploadUrl uploadHeaders ${errors} } }`
const commitUpload = `mutation ($id: ID!) { commitUpload(id: $id) { attachment { ${fields} } ${errors} } }`
const rescanAttachment = `mutation ($id: ID!) { rescanAttachment(id: $id) { attachment { ${fields} } ${errors} } }`
const node = `query ($id: ID!) { node(id: $id) { __typename ... on Attachment { ${fields} } } }`

const request = async (input: object = {}, who = admin) => {
  const given = { filename: 'a.txt', sizeBytes: 5, contentType: 'text/plain', ...input }
  return (await api.run(requestUpload, { input: given }, who)).data.requestUpload
}
const bare = (id: string): string => id.replace('attachment_', '')
/** Puts the bytes as the upload's URL would. */
const put = async (id: string, bytes = 'hello'): Promise<void> => {
  const [row] = await api.sql<{ key: string }>('select incoming_key as key from mdm.ddm_attachment where id = $1', [
    bare(id),
  ])
  await api.deps.objects.store.put(row!.key, Readable.from([Buffer.from(bytes)]), { maxBytes: 1_000_000 })
}
const commit = async (id: string, who = admin) => (await api.run(commitUpload, { id }, who)).data.commitUpload
const committed = async (input: object = {}): Promise<string> => {
  const { attachment } = await request(input)
  await put(attachment.id)
  await commit(attachment.id)
  return attachment.id
}
/** As the job leaves it. */
const judge = (id: string, status: string) =>
  api.sql(
    `update mdm.ddm_attachment set virus_scan_status = $2, sha256 = repeat('a', 64), object_key = 'objects/' || tenant_id || '/' || repeat('a', 64),
            detected_type = 'text/plain', scanned_at = now() where id = $1`,
    [bare(id), status],
  )

describe('requestUpload', () => {
  test('gives a signed URL for ten minutes, and an attachment without bytes', async () => {
    const before = Date.now()
    const { attachment, uploadUrl, uploadHeaders, errors: none } = await request({ tenantId: 'other' })
    expect(none).toEqual([])
    expect(attachment).toMatchObject({
      tenant: { key: 'other' },
      filename: 'a.txt',
      sizeBytes: null,
      contentType: null,
      virusScanStatus: 'NONE',
      downloadUrl: null,
      job: null,
    })
    expect(uploadHeaders).toEqual({ 'content-type': 'text/plain' })
    const url = new URL(uploadUrl)
    expect(url.origin).toBe('http://stellwerk.test')
    expect(url.pathname).toBe(`/uploads/incoming/${otherId}/${bare(attachment.id)}`)
    const seconds = Number(url.searchParams.get('expires')) - before / 1_000
    expect(seconds).toBeGreaterThan(595)
    expect(seconds).toBeLessThan(605)
  })

  test.each([
    [{ filename: '' }, ['filename']],
    [{ filename: '../../etc/passwd' }, ['filename']],
    [{ filename: 'a\\b' }, ['filename']],
    [{ filename: 'a\r\nb' }, ['filename']],
    [{ filename: 'photo\u202egpj.exe' }, ['filename']],
    [{ filename: 'x'.repeat(256) }, ['filename']],
    [{ sizeBytes: 0 }, ['sizeBytes']],
    [{ sizeBytes: -1 }, ['sizeBytes']],
    [{ contentType: 'text' }, ['contentType']],
    [{ contentType: 'text/plain\r\nx: y' }, ['contentType']],
    [{ tenantId: 'nobody' }, ['tenantId']],
    [{ entityId: 'entity_0197f3c2-7a54-7b1c-9d2e-5f6a7b8c9d0e' }, ['entityId']],
    [{ entityId: 'nonsense' }, ['entityId']],
  ])('%j is refused with its place', async (input, path) => {
    expect(await request(input)).toMatchObject({ attachment: null, uploadUrl: null, errors: [{ path }] })
  })

  test('KINDS 7.5: larger than the limit is refused before a byte is sent', async () => {
    expect((await request({ sizeBytes: 1024 * 1024 + 1 })).errors).toEqual([
      expect.objectContaining({ __typename: 'LimitError', path: ['sizeBytes'], limit: 1_048_576, actual: 1_048_577 }),
    ])
  })

  test('an entity of the same tenant is taken, another one is not', async () => {
    const [type] = await api.sql<{ id: string }>(
      `insert into mdm.ddm_entity_type (tenant_id, type_key, name) values ($1, 'product', 'Product') returning id`,
      [defaultId],
    )
    const [entity] = await api.sql<{ id: string }>(
      'insert into mdm.ddm_entity (tenant_id, entity_type_id) values ($1, $2) returning id',
      [defaultId, type!.id],
    )
    const entityId = `entity_${entity!.id}`
    const { attachment, errors: none } = await request({ entityId })
    expect(none).toEqual([])
    const { data } = await api.run(`query ($id: ID!) { node(id: $id) { ... on Attachment { entity { id } } } }`, {
      id: attachment.id,
    })
    expect(data.node.entity).toEqual({ id: entityId })
    expect(await request({ entityId, tenantId: 'other' })).toMatchObject({
      attachment: null,
      errors: [{ __typename: 'NotFoundError', path: ['entityId'] }],
    })
  })
})

describe('commitUpload', () => {
  test('enqueues the scan with the change; a second call changes nothing', async () => {
    const { attachment } = await request()
    await put(attachment.id)
    const first = await commit(attachment.id)
    expect(first.errors).toEqual([])
    expect(first.attachment).toMatchObject({
      virusScanStatus: 'PENDING',
      sizeBytes: 5,
      downloadUrl: null,
      job: { kind: { name: 'virus_scan' }, priority: 70 },
    })
    const again = await commit(attachment.id)
    expect(again).toEqual(first)
    const [count] = await api.sql<{ jobs: number }>(
      `select count(*)::int as jobs from mdm.aa_job where job_kind = 'virus_scan' and payload ->> 'attachment_id' = $1`,
      [bare(attachment.id)],
    )
    expect(count!.jobs).toBe(1)
    const [line] = await api.sql(
      `select actor_principal_id as actor, request_id from mdm.aa_audit_log where job_id = $1 and action = 'job_enqueued'`,
      [first.attachment.job.id.replace('job_', '')],
    )
    expect(line).toMatchObject({ actor: 'user:ada', request_id: expect.stringMatching(/^request-/) })
  })

  test('many at once make one job', async () => {
    const { attachment } = await request()
    await put(attachment.id)
    const answers = await Promise.all(Array.from({ length: 8 }, () => commit(attachment.id)))
    expect(new Set(answers.map((answer) => answer.attachment.job.id)).size).toBe(1)
  })

  test.each([
    ['without bytes', null, 'There are no bytes yet'],
    ['with fewer bytes than announced', 'hell', 'There are 4 bytes, 5 were announced'],
  ])('%s it is refused', async (_, bytes, message) => {
    const { attachment } = await request()
    if (bytes !== null) await put(attachment.id, bytes)
    expect(await commit(attachment.id)).toMatchObject({
      attachment: null,
      errors: [{ __typename: 'ValidationError', path: ['id'], message: expect.stringContaining(message) }],
    })
    expect((await api.run(node, { id: attachment.id })).data.node.virusScanStatus).toBe('NONE')
  })

  test('bytes in the folder of another instance are not looked for here', async () => {
    const { attachment } = await request()
    await api.sql(`update mdm.ddm_attachment set store = 'folder:another' where id = $1`, [bare(attachment.id)])
    expect((await commit(attachment.id)).errors).toMatchObject([
      { message: expect.stringContaining('another instance') },
    ])
  })

  test('a closed tenant gets no scan, and the upload stays as it was', async () => {
    await api.tenant('closing')
    const { attachment } = await request({ tenantId: 'closing' })
    await put(attachment.id)
    await api.sql(`update mdm.aa_tenant set status = 'closed' where tenant_key = 'closing'`)
    expect((await commit(attachment.id)).errors).toMatchObject([{ message: expect.stringContaining('closed') }])
    const [row] = await api.sql('select upload_status from mdm.ddm_attachment where id = $1', [bare(attachment.id)])
    expect(row).toMatchObject({ upload_status: 'pending_upload' })
  })
})

describe('whose it is', () => {
  test('KINDS 7.7: another tenant cannot commit, rescan or see it', async () => {
    const stranger = caller({ tenantIds: [otherId] })
    const { attachment } = await request({ tenantId: 'default' })
    await put(attachment.id)
    for (const id of [attachment.id, bare(attachment.id)]) {
      expect(await commit(id, stranger)).toMatchObject({
        attachment: null,
        errors: [{ __typename: 'NotFoundError', id, message: 'No such attachment among yours.' }],
      })
    }
    expect((await api.run(rescanAttachment, { id: attachment.id }, stranger)).data.rescanAttachment).toMatchObject({
      attachment: null,
      errors: [{ __typename: 'NotFoundError' }],
    })
    expect((await api.run(node, { id: attachment.id }, stranger)).data.node).toBeNull()
    expect((await request({ tenantId: 'default' }, stranger)).errors).toMatchObject([{ __typename: 'NotFoundError' }])
    expect((await commit(attachment.id, caller({ tenantIds: [defaultId] }))).errors).toEqual([])
  })

  test('scopes', async () => {
    const without = (scope: (typeof scopes)[number]) =>
      caller({ tenantIds: 'all', may: scopes.filter((each) => each !== scope) })
    const id = await committed()
    const input = { filename: 'a', sizeBytes: 1, contentType: 'text/plain' }
    expect(codeOf(await api.run(requestUpload, { input }, without('ENQUEUE_JOBS')))).toBe('FORBIDDEN')
    expect(codeOf(await api.run(commitUpload, { id }, without('ENQUEUE_JOBS')))).toBe('FORBIDDEN')
    expect(codeOf(await api.run(rescanAttachment, { id }, without('MANAGE_METADATA')))).toBe('FORBIDDEN')
    expect(codeOf(await api.run(node, { id }, without('READ_JOBS')))).toBe('FORBIDDEN')
    expect(codeOf(await api.run(requestUpload, { input }, null))).toBe('UNAUTHENTICATED')
    await judge(id, 'clean')
    expect((await api.run(node, { id }, without('READ_PAYLOADS'))).data.node.downloadUrl).toBeNull()
  })
})

describe('downloadUrl', () => {
  test.each(['pending', 'scanning', 'infected', 'unscannable', 'error'])(
    'KINDS 7.2: there is none while it is %s',
    async (status) => {
      const id = await committed()
      await judge(id, status)
      expect((await api.run(node, { id })).data.node).toMatchObject({
        __typename: 'Attachment',
        virusScanStatus: status.toUpperCase(),
        downloadUrl: null,
      })
    },
  )

  test('of a clean one points at the scanned object, for five minutes', async () => {
    const id = await committed()
    await judge(id, 'clean')
    const { downloadUrl, contentType } = (await api.run(node, { id: bare(id).replace(/^/, 'attachment_') })).data.node
    const url = new URL(downloadUrl)
    expect(contentType).toBe('text/plain')
    expect(url.pathname).toBe(`/downloads/objects/${defaultId}/${'a'.repeat(64)}`)
    expect(Number(url.searchParams.get('expires')) - Date.now() / 1_000).toBeLessThan(305)
  })
})

describe('rescanAttachment', () => {
  test.each(['clean', 'infected', 'unscannable', 'error'])(
    '%s: waits for another scan, behind new files',
    async (status) => {
      const id = await committed()
      await judge(id, status)
      const { attachment, errors: none } = (await api.run(rescanAttachment, { id })).data.rescanAttachment
      expect(none).toEqual([])
      expect(attachment).toMatchObject({ virusScanStatus: 'PENDING', downloadUrl: null, job: { priority: 190 } })
    },
  )

  test('a scan under way will do', async () => {
    const id = await committed()
    const { __typename: _, ...before } = (await api.run(node, { id })).data.node
    expect((await api.run(rescanAttachment, { id })).data.rescanAttachment).toMatchObject({
      attachment: before,
      errors: [],
    })
  })

  test('without bytes there is nothing to scan', async () => {
    const { attachment } = await request()
    expect((await api.run(rescanAttachment, { id: attachment.id })).data.rescanAttachment.errors).toMatchObject([
      { message: expect.stringContaining('Commit the upload first') },
    ])
    const id = await committed()
    await judge(id, 'infected')
    await api.sql(`update mdm.ddm_attachment set upload_status = 'deleted', object_key = null where id = $1`, [
      bare(id),
    ])
    expect((await api.run(rescanAttachment, { id })).data.rescanAttachment.errors).toMatchObject([
      { message: expect.stringContaining('deleted') },
    ])
  })
})

test('the typed inputs become the payloads that SQL callers write', async () => {
  const enqueue = `mutation ($job: JobInput!) { enqueueJob(input: { job: $job, tenantId: "default" }) { job { payload kind { name } } errors { message path ... on ValidationError { pointer } } } }`
  const id = await committed()
  const scan = (await api.run(enqueue, { job: { virusScan: { attachmentId: id } } })).data.enqueueJob
  expect(scan).toMatchObject({
    errors: [],
    job: { kind: { name: 'virus_scan' }, payload: { attachment_id: bare(id) } },
  })
  const email = {
    to: { address: 'ada@example.org' },
    content: { subject: 's', text: 't' },
    attachmentIds: [id, bare(id)],
  }
  expect((await api.run(enqueue, { job: { emailSend: email } })).data.enqueueJob).toMatchObject({
    errors: [{ pointer: '/attachment_ids' }],
  })
  expect(
    (await api.run(enqueue, { job: { emailSend: { ...email, attachmentIds: [id] } } })).data.enqueueJob,
  ).toMatchObject({
    errors: [],
    job: { payload: { attachment_ids: [bare(id)] } },
  })
  expect((await api.run(enqueue, { job: { virusScan: { attachmentId: 'nonsense' } } })).data.enqueueJob).toMatchObject({
    errors: [{ pointer: '/attachment_id', path: ['job', 'virusScan'] }],
  })
})
