import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFolderStore } from '../../src/objects/folder-store.ts'
import type { ObjectStore } from '../../src/objects/object-store.ts'
import { attachmentSteps } from '../../src/workers/handlers/attachment-steps.ts'
import { createObjectSweep } from '../../src/workers/object-sweep.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let folder: string
let store: ObjectStore
let count = 0

beforeAll(async () => {
  database = await testDatabase()
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-cleanup-'))
  store = await createFolderStore(folder)
})
afterAll(async () => {
  await database?.drop()
  await rm(folder, { recursive: true })
})

/** What the steps of one tick do, in one object. */
async function tidy(): Promise<Record<string, unknown>> {
  const sweep = createObjectSweep(database.pool, store, (error) => {
    throw error
  })
  const context = {
    signal: new AbortController().signal,
    progress: async () => undefined,
    log: { info: () => undefined, warn: () => undefined },
  }
  const results: Record<string, unknown>[] = []
  for (const step of attachmentSteps(database.pool, sweep)) results.push({ ...(await step.run(context)) })
  return Object.assign({}, ...results)
}

const put = (key: string) => store.put(key, Readable.from([Buffer.from(key)]), { maxBytes: 1_000 })
const attachment = async (status: string, age: string, { objectKey = null as string | null } = {}) => {
  const incomingKey = `incoming/t/${(count += 1)}`
  await put(incomingKey)
  if (objectKey !== null && (await store.stat(objectKey)) === null) await put(objectKey)
  const [row] = await database.sql<{ id: string }>(
    `insert into mdm.ddm_attachment (tenant_id, filename, declared_type, announced_bytes, size_bytes, sha256, upload_status, upload_expires_at, store, incoming_key,
                                     object_key, virus_scan_status, created_at)
     select id, 'a', 'text/plain', 1, 1, repeat('a', 64), case $1 when 'none' then 'pending_upload' else 'committed' end, now() - $2::interval, $3, $4, $5, $1,
            now() - $2::interval
       from mdm.aa_tenant where tenant_key = 'default' returning id`,
    [status, age, store.id, incomingKey, objectKey],
  )
  return { id: row!.id, incomingKey, objectKey }
}
const exists = async (key: string | null) => (await store.stat(key!)) !== null
const status = async (id: string) =>
  (
    await database.sql('select upload_status, virus_scan_status, object_key from mdm.ddm_attachment where id = $1', [
      id,
    ])
  )[0]

test('uploads that nobody committed for a day go with their bytes; younger ones and committed ones stay', async () => {
  const old = await attachment('none', '25 hours')
  const young = await attachment('none', '23 hours')
  const waiting = await attachment('pending', '25 hours')
  expect(await tidy()).toMatchObject({ expiredUploads: 1, emptiedQuarantine: 0, removedObjects: 1 })
  expect(await status(old.id)).toBeUndefined()
  expect(await exists(old.incomingKey)).toBe(false)
  for (const { id, incomingKey } of [young, waiting]) {
    expect(await status(id)).toBeDefined()
    expect(await exists(incomingKey)).toBe(true)
  }
})

test.each(['infected', 'unscannable', 'error'])(
  'what was %s for a month loses its bytes and keeps its row',
  async (found) => {
    const old = await attachment(found, '31 days', { objectKey: `quarantine/t/${found}-old` })
    const young = await attachment(found, '29 days', { objectKey: `quarantine/t/${found}-young` })
    expect(await tidy()).toMatchObject({ emptiedQuarantine: 1, removedObjects: 2 })
    expect(await status(old.id)).toEqual({ upload_status: 'deleted', virus_scan_status: found, object_key: null })
    expect(await exists(old.objectKey)).toBe(false)
    expect(await exists(old.incomingKey)).toBe(false)
    expect(await exists(young.objectKey)).toBe(true)
  },
)

test('clean files stay for ever, and what an attachment refers to is not removed by mistake', async () => {
  const clean = await attachment('clean', '400 days', { objectKey: 'objects/t/clean' })
  await database.sql('insert into mdm.aa_object_removal (store, object_key) values ($1, $2)', [
    store.id,
    clean.objectKey,
  ])
  expect(await tidy()).toMatchObject({ emptiedQuarantine: 0, removedObjects: 0 })
  expect(await exists(clean.objectKey)).toBe(true)
})

test('an object in quarantine that two attachments share goes with the later one', async () => {
  const shared = { objectKey: 'quarantine/t/shared' }
  await attachment('infected', '31 days', shared)
  const later = await attachment('infected', '10 days', shared)
  await tidy()
  expect(await exists(shared.objectKey)).toBe(true)
  await database.sql(`update mdm.ddm_attachment set created_at = now() - interval '31 days' where id = $1`, [later.id])
  await tidy()
  expect(await exists(shared.objectKey)).toBe(false)
})

test('removals of another store, and those that are not due, are left alone; more than a batch goes in one run', async () => {
  const keys = Array.from({ length: 450 }, (_, n) => `objects/t/many-${n}`)
  await put(keys[0]!)
  await database.sql('insert into mdm.aa_object_removal (store, object_key) select $1, unnest($2::text[])', [
    store.id,
    keys,
  ])
  await put('objects/t/later')
  await database.sql(
    `insert into mdm.aa_object_removal (store, object_key, due_at) values ($1, 'objects/t/later', now() + interval '1 hour'), ('folder:other', 'objects/t/later', now())`,
    [store.id],
  )
  expect(await tidy()).toMatchObject({ removedObjects: 450 })
  expect(await exists(keys[0]!)).toBe(false)
  expect(await exists('objects/t/later')).toBe(true)
  expect(await readdir(join(folder, '.unfinished'))).toEqual([])
})

test('an object that cannot be removed is told of, and keeps no other', async () => {
  // The folder of a key is in its place.
  await mkdir(join(folder, 'objects/t/stuck'), { recursive: true })
  await put('objects/t/behind')
  await database.sql(
    `insert into mdm.aa_object_removal (store, object_key, due_at)
     values ($1, 'objects/t/stuck', now() - interval '1 hour'), ($1, 'objects/t/behind', now())`,
    [store.id],
  )
  await expect(tidy()).rejects.toThrow('objects/t/stuck')
  expect(await exists('objects/t/behind')).toBe(false)
  const left = await database.sql(
    `select object_key from mdm.aa_object_removal where object_key in ('objects/t/stuck', 'objects/t/behind')`,
  )
  expect(left).toEqual([{ object_key: 'objects/t/stuck' }])
})
