import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'

// What a process never uses it does not load: modules are memory for as long as it runs.

let home: string
let database: TestDatabase
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'stellwerk loaded '))
  database = await testDatabase()
})
afterAll(async () => {
  await database.drop()
  await rm(home, { recursive: true, force: true })
})

/** The packages that a role has loaded once it is ready. */
async function packagesOf(role: string, settings: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const file = join(home, `${role} ${Math.random()}`)
  const service = startService({
    args: [role],
    dataDir: `${file} data`,
    settings: {
      DATABASE_URL: database.url,
      STELLWERK_JWT_SECRET: 'a secret of tests that is long enough for HS256',
      NODE_OPTIONS: `--import ${new URL('note-modules.ts', import.meta.url)}`,
      NOTED_MODULES: file,
      ...settings,
    },
  })
  await service.started()
  expect(await service.stop()).toMatchObject({ code: 0 })
  return (await readFile(file, 'utf8')).split('\n')
}

/** `graphql` itself is for its class of errors. */
const ofTheApi = ['@pothos/core', 'graphql-yoga', 'graphql-ws', 'ws', 'jose', '@fastify/busboy']
const ofBuiltInKinds = [
  ...['undici', 'nodemailer', 'smtp-server', 'mailparser', 'liquidjs', 'html-to-text'],
  ...['file-type', 'yauzl', 'sax', 'unpdf', 'tesseract.js', '@napi-rs/canvas'],
]
const ofStores = ['@aws-sdk/client-s3', '@aws-sdk/s3-request-presigner']

test('workers load neither the API nor what only some kinds, stores and providers need', async () => {
  const packages = await packagesOf('worker')
  expect(packages).toContain('pg')
  expect(packages.filter((name) => [...ofTheApi, ...ofBuiltInKinds, ...ofStores].includes(name))).toEqual([])
})

test('what the settings ask for is there at the start', async () => {
  const packages = await packagesOf('start', {
    SMTP_URL: 'smtp://127.0.0.1:1',
    STELLWERK_MAIL_FROM: 'stellwerk@example.org',
    CLAMD_URL: 'tcp://127.0.0.1:1',
    STELLWERK_S3_BUCKET: 'nowhere',
    STELLWERK_S3_ENDPOINT: 'http://127.0.0.1:1',
  })
  expect(packages).toEqual(expect.arrayContaining([...ofTheApi, 'nodemailer', 'file-type', '@aws-sdk/client-s3']))
  expect(packages).not.toContain('smtp-server')
})
