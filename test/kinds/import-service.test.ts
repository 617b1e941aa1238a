import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '../../src/index.ts'
import type { Scope } from '../../src/jobs/permissions.ts'
import { mintApiKey } from '../../src/resolvers/mint-api-key.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let dataDir: string
let app: Awaited<ReturnType<typeof createApp>>
let url: string
let admin: string

beforeAll(async () => {
  database = await testDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-imports-'))
  app = await createApp({
    settings: {
      DATABASE_URL: database.url,
      STELLWERK_DATA_DIR: dataDir,
      STELLWERK_ENV: 'development',
      STELLWERK_MAX_UPLOAD_MB: '2',
      PORT: '0',
      LOG_LEVEL: 'silent',
    },
  })
  ;({ url } = await app.start())
  admin = (await readFile(join(dataDir, 'admin.token'), 'utf8')).trim()
})
afterAll(async () => {
  await app.stop()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

// What a test asks for it knows the shape of.
// oxlint-disable-next-line typescript/no-explicit-any
async function graphql(query: string, variables: Record<string, unknown> = {}, token = admin): Promise<any> {
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  })
  return answer.json()
}

async function entityType(key: string, tenantId = 'default'): Promise<string> {
  const { data } = await graphql(
    `
      mutation ($input: EntityTypeInput!) {
        setEntityType(input: $input) {
          entityType {
            id
          }
          errors {
            message
          }
        }
      }
    `,
    {
      input: {
        tenantId,
        key,
        name: key,
        attributes: [
          { key: 'name', dataType: 'TEXT', required: true },
          { key: 'price', dataType: 'NUMBER' },
        ],
      },
    },
  )
  return data.setEntityType.entityType.id
}

interface Form {
  readonly file?: string | Buffer | null
  readonly filename?: string
  readonly entityType?: string
  readonly options?: unknown
  readonly tenant?: string
  readonly token?: string | null
}

async function post({ file = '', filename = 'people.csv', entityType: type, options, tenant, token = admin }: Form) {
  const form = new FormData()
  // As curl sends them: in the order of its arguments.
  if (type !== undefined) form.append('entityType', type)
  if (file !== null) form.append('file', new Blob([Buffer.from(file)]), filename)
  if (options !== undefined) form.append('options', typeof options === 'string' ? options : JSON.stringify(options))
  if (tenant !== undefined) form.append('tenant', tenant)
  const answer = await fetch(`${url}/imports`, {
    method: 'POST',
    body: form,
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
  })
  const body = (await answer.json()) as {
    importId: string
    jobId: string
    errors?: { message: string; extensions: { code: string; requestId: string } }[]
  }
  const bare = (id: string | undefined) => id?.replace(/^(?:import|job)_/, '') as string
  return {
    status: answer.status,
    ...body,
    importId: bare(body.importId),
    jobId: bare(body.jobId),
    named: body.importId,
  }
}

const fields = `id status filename encoding totalRows stagedRows validRows invalidRows committedRows error warning resultUrl finishedAt entityType { key } job { id status }
  rows(first: 10) { pageInfo { hasNextPage endCursor } nodes { rowNumber raw status errors { attribute code message } entity { externalKey attributes } } }`

async function read(id: string, token = admin) {
  const { data, errors } = await graphql(
    `query ($id: ID!) { node(id: $id) { ... on Import { ${fields} } } }`,
    { id: `import_${id}` },
    token,
  )
  if (errors !== undefined) throw new Error(JSON.stringify(errors))
  return data.node
}

async function rested(id: string) {
  return until(async () => {
    const row = await read(id)
    return ['DONE', 'FAILED', 'CANCELLED', 'VALIDATED'].includes(row.status) &&
      ['DONE', 'FAILED', 'DLQ'].includes(row.job?.status)
      ? row
      : null
  }, `the import ${id} has come to rest`)
}

async function tokenFor(scopes: readonly Scope[], tenantIds: readonly string[] | null): Promise<string> {
  const { key } = await mintApiKey(database.pool, {
    name: 'test',
    scopes,
    tenantIds,
    expiresAt: null,
    createdBy: 'user:ada',
  })
  return key
}

async function objects(): Promise<number> {
  const [row] = await database.sql<{ count: number }>('select count(*)::int as count from mdm.aa_import_upload')
  return row!.count
}

describe('POST /imports', () => {
  test('takes a file in, imports it, and shows what became of it', async () => {
    await entityType('person')
    const file = 'externalKey;name;price\r\n1;Jörg;2.5\r\n2;;x\r\n'
    const { status, importId, jobId, named } = await post({ file, entityType: 'person' })
    expect(status).toBe(202)
    expect(named).toBe(`import_${importId}`)
    const row = await rested(importId)
    expect(row).toMatchObject({
      id: `import_${importId}`,
      status: 'DONE',
      filename: 'people.csv',
      encoding: 'utf-8',
      totalRows: 2,
      stagedRows: 2,
      validRows: 1,
      invalidRows: 1,
      committedRows: 1,
      error: null,
      warning: null,
      entityType: { key: 'person' },
      job: { id: `job_${jobId}`, status: 'DONE' },
    })
    expect(row.rows.nodes).toEqual([
      {
        rowNumber: 1,
        raw: { externalKey: '1', name: 'Jörg', price: '2.5' },
        status: 'COMMITTED',
        errors: [],
        entity: { externalKey: '1', attributes: { name: 'Jörg', price: 2.5 } },
      },
      {
        rowNumber: 2,
        raw: { externalKey: '2', name: '', price: 'x' },
        status: 'INVALID',
        errors: [
          { attribute: 'name', code: 'required', message: 'A value is required.' },
          {
            attribute: 'price',
            code: 'invalid_number',
            message: 'This is no number. Write it with digits and a decimal point, such as 1234.50.',
          },
        ],
        entity: null,
      },
    ])
    const result = await fetch(row.resultUrl)
    expect(result.status).toBe(200)
    expect(result.headers.get('content-disposition')).toContain('people-result.csv')
    expect(await result.text()).toContain('2,invalid,"name: required: A value is required. | price: invalid_number: ')
    const { data } = await graphql(`
      {
        imports(first: 1) {
          nodes {
            id
          }
          pageInfo {
            hasNextPage
          }
        }
        auditLog(filter: { action: [IMPORT_DONE] }, first: 5) {
          nodes {
            action
          }
        }
      }
    `)
    expect(data.imports.nodes).toEqual([{ id: `import_${importId}` }])
    expect(data.auditLog.nodes).toContainEqual({ action: 'IMPORT_DONE' })
    expect(await objects()).toBe(0)
  })

  test('KINDS 3.3: the same file again is the first import, also at the same moment; with other options it is another', async () => {
    const entity = await entityType('double')
    const file = 'name\nAda\n'
    const answers = await Promise.all([1, 2, 3, 4].map(() => post({ file, entityType: 'double' })))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(new Set(answers.map(({ importId }) => importId)).size).toBe(1)
    expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1)
    await rested(answers[0]!.importId)
    const again = await post({ file, entityType: entity, options: {} })
    expect(again).toMatchObject({ status: 200, importId: answers[0]!.importId })
    // Who is told makes no other import of it.
    expect(await post({ file, entityType: 'double', options: { notifyEmail: 'ada@example.org' } })).toMatchObject({
      status: 200,
      importId: answers[0]!.importId,
    })
    expect(await post({ file, entityType: 'double', options: { mode: 'insert', onError: 'abort' } })).toMatchObject({
      status: 202,
    })
    const [{ count }] = (await database.sql(
      `select count(*)::int as count from mdm.aa_import_job i join mdm.ddm_entity_type t on t.id = i.entity_type_id where t.type_key = 'double'`,
    )) as [{ count: number }]
    expect(count).toBe(2)
    expect(await objects()).toBe(0)
  })

  test('L03: what was guessed of a file is told where it is shown, with the place', async () => {
    await entityType('guessed')
    const bytes = Buffer.from('name\nJörg\n', 'latin1')
    const { importId } = await post({ file: bytes, entityType: 'guessed', options: { dryRun: true } })
    expect(await rested(importId)).toMatchObject({
      status: 'VALIDATED',
      encoding: 'windows-1252',
      warning: expect.stringContaining('byte 0xF6 in line 2 (byte offset 6) is not UTF-8'),
    })
  })

  test('a file whose import failed may come again', async () => {
    await entityType('again')
    const file = 'name,colour\nAda,red\n'
    const first = await post({ file, entityType: 'again' })
    expect(await rested(first.importId)).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining('Unknown columns: "colour"'),
      resultUrl: null,
    })
    await graphql(`
      mutation {
        setEntityType(
          input: { tenantId: "default", key: "again", name: "again", attributes: [{ key: "colour", dataType: TEXT }] }
        ) {
          errors {
            message
          }
        }
      }
    `)
    const second = await post({ file, entityType: 'again' })
    expect(second.status).toBe(202)
    expect(await rested(second.importId)).toMatchObject({ status: 'DONE', committedRows: 1 })
  })

  test('what is wrong with the form is told, and nothing is left behind', async () => {
    await entityType('form')
    const good = { file: 'name\nAda\n', entityType: 'form' }
    const code = ({ status, errors }: Awaited<ReturnType<typeof post>>) => `${status} ${errors?.[0]?.extensions.code}`
    expect(code(await post({ ...good, token: null }))).toBe('401 UNAUTHENTICATED')
    expect(code(await post({ ...good, token: 'sw_nonsense' }))).toBe('401 UNAUTHENTICATED')
    expect(code(await post({ ...good, file: null }))).toBe('400 BAD_USER_INPUT')
    expect(code(await post({ file: good.file }))).toBe('400 BAD_USER_INPUT')
    expect(code(await post({ ...good, entityType: 'nope' }))).toBe('404 NOT_FOUND')
    expect(code(await post({ ...good, tenant: 'nope' }))).toBe('404 NOT_FOUND')
    expect(code(await post({ ...good, options: '{' }))).toBe('400 BAD_USER_INPUT')
    for (const [options, names] of [
      [{ mode: 'replace' }, 'options.mode'],
      [{ delimeter: ';' }, 'delimeter'],
      [{ delimiter: '::' }, 'options.delimiter'],
      [{ encoding: 'ebcdic' }, 'options.encoding'],
      [{ mapping: { a: 1 } }, 'options.mapping.a'],
      [{ maxErrors: -1 }, 'options.maxErrors'],
      [{ notifyEmail: 'a@example.org\r\nBcc: evil@example.org' }, 'options.notifyEmail'],
      [[], 'options'],
      ['{"mapping":{"a\\u0000":"name"}}', 'NUL'],
    ] as const) {
      const answer = await post({ ...good, options })
      expect(code(answer)).toBe('400 BAD_USER_INPUT')
      expect(answer.errors![0]!.message).toContain(names)
      expect(answer.errors![0]!.extensions.requestId).toMatch(/./)
    }
    expect(code(await post({ ...good, file: Buffer.alloc(3 * 1024 * 1024, 'x') }))).toBe('413 BAD_USER_INPUT')
    const plain = await fetch(`${url}/imports`, {
      method: 'POST',
      body: 'name\nAda',
      headers: { authorization: `Bearer ${admin}` },
    })
    expect(plain.status).toBe(415)
    expect((await fetch(`${url}/imports`)).status).toBe(405)
    expect(await objects()).toBe(0)
    const [{ count }] = (await database.sql(
      `select count(*)::int as count from mdm.aa_import_job i join mdm.ddm_entity_type t on t.id = i.entity_type_id where t.type_key = 'form'`,
    )) as [{ count: number }]
    expect(count).toBe(0)
  })
})

describe('who may', () => {
  test('tenants do not see, change or reach the imports and types of others', async () => {
    const { data } = await graphql(`
      mutation {
        createTenant(input: { key: "north", name: "North" }) {
          tenant {
            id
          }
          errors {
            message
          }
        }
      }
    `)
    expect(data.createTenant.errors).toEqual([])
    await entityType('private')
    const [{ id: north }] = (await database.sql(`select id from mdm.aa_tenant where tenant_key = 'north'`)) as [
      { id: string },
    ]
    const scopes: Scope[] = ['READ_JOBS', 'READ_PAYLOADS', 'ENQUEUE_JOBS', 'CONTROL_JOBS', 'MANAGE_METADATA']
    const foreign = await tokenFor(scopes, [north])
    const { importId } = await post({ file: 'name\nAda\n', entityType: 'private', options: { dryRun: true } })
    await rested(importId)

    expect((await post({ file: 'name\nEve\n', entityType: 'private', token: foreign })).status).toBe(404)
    expect((await post({ file: 'name\nEve\n', entityType: 'private', tenant: 'default', token: foreign })).status).toBe(
      404,
    )
    expect(await read(importId, foreign)).toBeNull()
    expect((await graphql('{ imports { nodes { id } } }', {}, foreign)).data.imports.nodes).toEqual([])
    for (const name of ['commitImport', 'cancelImport']) {
      const answer = await graphql(
        `mutation ($id: ID!) { ${name}(id: $id) { import { id } errors { code } } }`,
        { id: importId },
        foreign,
      )
      expect(answer.data[name]).toEqual({ import: null, errors: [{ code: 'NOT_FOUND' }] })
    }
    const job = await graphql(
      `
        mutation ($id: ID!) {
          enqueueJob(input: { job: { bulkImport: { importId: $id } } }) {
            job {
              id
            }
            errors {
              message
            }
          }
        }
      `,
      { id: importId },
      foreign,
    )
    const dead = await until(async () => {
      const found = await graphql(
        `
          query ($id: ID!) {
            node(id: $id) {
              ... on Job {
                status
                lastError {
                  message
                }
              }
            }
          }
        `,
        { id: job.data.enqueueJob.job.id },
        foreign,
      )
      return found.data.node.status === 'DLQ' ? found.data.node : null
    }, 'the job of another tenant is refused')
    expect(dead.lastError.message).toContain('There is no import')
    expect((await read(importId)).status).toBe('VALIDATED')
  })

  test('without READ_PAYLOADS values are masked and the result is closed; without ENQUEUE_JOBS nothing comes in', async () => {
    await entityType('masked')
    const { importId } = await post({ file: 'name,price\nSecret,1\nHidden,x\n', entityType: 'masked' })
    await rested(importId)
    const reader = await tokenFor(['READ_JOBS'], null)
    const row = await read(importId, reader)
    expect(JSON.stringify(row)).not.toContain('Secret')
    expect(row.resultUrl).toBeNull()
    expect(row.rows.nodes[0]).toMatchObject({ raw: { name: '[redacted]', price: '[redacted]' }, entity: null })
    expect((await post({ file: 'name\nAda\n', entityType: 'masked', token: reader })).status).toBe(403)
    const denied = await graphql(
      'mutation ($id: ID!) { cancelImport(id: $id) { import { id } } }',
      { id: importId },
      reader,
    )
    expect(denied.errors[0].extensions.code).toBe('FORBIDDEN')
    const url2 = new URL((await read(importId)).resultUrl)
    url2.searchParams.set('name', 'other.csv')
    expect((await fetch(url2)).status).toBe(403)
  })
})

describe('commitImport and cancelImport', () => {
  test('a dry run changes nothing, and then goes on for real', async () => {
    await entityType('dry')
    const { importId } = await post({
      file: 'externalKey,name,price\n1,Ada,1\n2,Bob,x\n',
      entityType: 'dry',
      options: { dryRun: true },
    })
    const dry = await rested(importId)
    expect(dry).toMatchObject({ status: 'VALIDATED', validRows: 1, invalidRows: 1, committedRows: 0, finishedAt: null })
    expect(await (await fetch(dry.resultUrl)).text()).toContain('1,valid,')
    const { data } = await graphql(
      `
        mutation ($id: ID!) {
          commitImport(id: $id) {
            import {
              status
              job {
                status
              }
            }
            errors {
              message
            }
          }
        }
      `,
      { id: dry.id },
    )
    expect(data.commitImport.errors).toEqual([])
    const done = await rested(importId)
    expect(done).toMatchObject({ status: 'DONE', committedRows: 1 })
    expect(await (await fetch(done.resultUrl)).text()).toContain('1,committed,')
    const again = await graphql(
      `
        mutation ($id: ID!) {
          commitImport(id: $id) {
            import {
              status
            }
            errors {
              code
              message
            }
          }
        }
      `,
      { id: dry.id },
    )
    expect(again.data.commitImport.errors).toMatchObject([
      { code: 'INVALID', message: expect.stringContaining('DONE') },
    ])
  })

  test('a dry run goes on by its job, too, and can be cancelled instead', async () => {
    await entityType('dry2')
    const first = await post({ file: 'name\nAda\n', entityType: 'dry2', options: { dryRun: true } })
    await rested(first.importId)
    await graphql(
      `
        mutation ($id: ID!) {
          enqueueJob(input: { job: { bulkImport: { importId: $id, batchSize: 10 } } }) {
            job {
              id
            }
            errors {
              message
            }
          }
        }
      `,
      { id: `import_${first.importId}` },
    )
    await until(async () => (await read(first.importId)).status === 'DONE', 'the import went on')
    const second = await post({ file: 'name\nBob\n', entityType: 'dry2', options: { dryRun: true } })
    await rested(second.importId)
    const { data } = await graphql(
      `
        mutation ($id: ID!) {
          cancelImport(id: $id, reason: "not wanted") {
            import {
              status
              error
              rows(status: [SKIPPED]) {
                nodes {
                  status
                }
              }
            }
            errors {
              message
            }
          }
        }
      `,
      { id: second.importId },
    )
    expect(data.cancelImport).toEqual({
      errors: [],
      import: { status: 'CANCELLED', error: 'not wanted', rows: { nodes: [{ status: 'SKIPPED' }] } },
    })
    const again = await graphql(
      `
        mutation ($id: ID!) {
          cancelImport(id: $id) {
            import {
              status
            }
            errors {
              message
            }
          }
        }
      `,
      { id: second.importId },
    )
    expect(again.data.cancelImport).toEqual({ errors: [], import: { status: 'CANCELLED' } })
    const late = await graphql(
      `
        mutation ($id: ID!) {
          cancelImport(id: $id) {
            import {
              status
            }
            errors {
              message
            }
          }
        }
      `,
      { id: first.importId },
    )
    expect(late.data.cancelImport.errors).toMatchObject([{ message: 'The import has ended already: DONE.' }])
  })

  test('cancelling in the middle keeps what is committed, and ends the job', async () => {
    await entityType('long')
    const rows = Array.from({ length: 30_000 }, (_, i) => `k${i},n${i}`)
    const { importId, jobId } = await post({ file: `externalKey,name\n${rows.join('\n')}\n`, entityType: 'long' })
    await until(async () => (await read(importId)).committedRows > 0, 'rows are committed', 60_000)
    const { data } = await graphql(
      `
        mutation ($id: ID!) {
          cancelImport(id: $id) {
            import {
              status
            }
            errors {
              message
            }
          }
        }
      `,
      { id: importId },
    )
    expect(data.cancelImport).toEqual({ errors: [], import: { status: 'CANCELLED' } })
    const ended = await until(async () => {
      const { data: found } = await graphql('query ($id: ID!) { node(id: $id) { ... on Job { status } } }', {
        id: `job_${jobId}`,
      })
      return ['FAILED', 'DONE'].includes(found.node.status) ? found.node.status : null
    }, 'the job has ended')
    expect(ended).toBe('FAILED')
    const { committedRows, validRows } = await read(importId)
    expect(committedRows).toBeLessThan(validRows)
    const [{ count }] = (await database.sql(
      `select count(*)::int as count from mdm.ddm_entity where import_job_id = $1`,
      [importId],
    )) as [{ count: number }]
    expect(count).toBe(committedRows)
  }, 90_000)
})

test('KINDS 3.5: progress only grows, says phase and rows, and ends at a hundred', { timeout: 90_000 }, async () => {
  await entityType('progress')
  const rows = Array.from({ length: 12_000 }, (_, i) => `k${i},n${i},${i}`)
  const { jobId } = await post({ file: `externalKey,name,price\n${rows.join('\n')}\n`, entityType: 'progress' })
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${admin}` },
    body: JSON.stringify({
      query: 'subscription ($id: ID!) { job(id: $id) { job { status progress { percent message data } } } }',
      variables: { id: jobId },
    }),
  })
  const seen: { percent: number; message: string; data: { phase: string; rows: number } }[] = []
  let text = ''
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop()!
    const jobs = lines.flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)).data.job.job] : []))
    seen.push(...jobs.flatMap(({ progress }) => progress ?? []))
    if (jobs.some(({ status }) => status === 'DONE')) break
  }
  const shares = seen.map(({ percent }) => percent)
  expect(shares).toEqual(shares.toSorted((a, b) => a - b))
  expect(shares.at(-1)).toBe(100)
  expect(new Set(shares).size).toBeGreaterThan(3)
  const phases = [...new Set(seen.map(({ data }) => data.phase))]
  expect(['staging', 'validating', 'committing', 'reporting'].filter((phase) => phases.includes(phase))).toEqual(phases)
  expect(seen.map(({ message }) => message).join()).toMatch(/Committed [\d,]+ of 12,000 rows/)
})

test('imports are listed newest first, page by page', async () => {
  await entityType('pages')
  const ids: string[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    ids.push((await post({ file: `name\n${name}\n`, entityType: 'pages' })).importId)
  const listed: string[] = []
  for (let after: string | null = null; listed.length < 5;) {
    const { data } = await graphql(
      `
        query ($after: String) {
          imports(first: 2, after: $after) {
            nodes {
              id
            }
            pageInfo {
              endCursor
            }
          }
        }
      `,
      { after },
    )
    listed.push(...data.imports.nodes.map(({ id }: { id: string }) => id.replace('import_', '')))
    after = data.imports.pageInfo.endCursor
  }
  expect(listed.slice(0, 5)).toEqual(ids.toReversed())
  for (const id of ids) await rested(id)
})

test('the file lies in the store as it was sent', async () => {
  await entityType('bytes')
  const file = Buffer.from([...Buffer.from('name\nM'), 0xfc, 10])
  const { importId } = await post({ file, entityType: 'bytes' })
  await rested(importId)
  const [row] = await database.sql<{ sha: string; key: string }>(
    `select content_sha256 as sha, object_key as key from mdm.aa_import_job where id = $1`,
    [importId],
  )
  expect(row!.sha).toBe(createHash('sha256').update(file).digest('hex'))
  expect(await readFile(join(dataDir, 'objects', row!.key))).toEqual(file)
})
