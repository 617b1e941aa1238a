import { createHash } from 'node:crypto'
import { mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createS3Store } from '../../src/objects/s3-store.ts'
import { createFolderArchive, createStoreArchive, type DocumentArchive } from '../../src/objects/worm-archive.ts'
import { startS3Server, type S3Server } from '../support/s3-server.ts'

let folder: string
let s3: S3Server
const archives: Record<string, DocumentArchive> = {}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-archive-'))
  s3 = await startS3Server()
  archives['a folder'] = createFolderArchive(folder)
  archives['a bucket'] = createStoreArchive(createS3Store(s3.settings))
})
afterAll(async () => {
  await s3?.stop()
  await rm(folder, { recursive: true, force: true })
})

const bytes = Buffer.from('Stored once.')
const body = (content = bytes) => Readable.from([content])
const sha256 = createHash('sha256').update(bytes).digest('hex')

describe.each(['a folder', 'a bucket'])('an archive in %s', (name) => {
  test('gives back what was stored, once', async () => {
    const { archive, intake } = archives[name]!
    expect(await intake.store('2026/11/a', body(), { maxBytes: 100 })).toMatchObject({
      sizeBytes: bytes.length,
      sha256,
    })
    expect(await buffer(await archive.openRead('2026/11/a'))).toEqual(bytes)
    expect(await archive.stat('2026/11/a')).toMatchObject({ sizeBytes: bytes.length })
    await expect(intake.store('2026/11/a', body(), { maxBytes: 100 })).rejects.toMatchObject({ code: 'OBJECT_EXISTS' })
    expect(await buffer(await archive.openRead('2026/11/a'))).toEqual(bytes)
    expect(Object.keys(archive).toSorted()).toEqual(['openRead', 'stat'])
  })

  test('keeps nothing of what is too large, or was withdrawn', async () => {
    const { archive, intake } = archives[name]!
    await expect(intake.store('2026/11/b', body(), { maxBytes: 3 })).rejects.toMatchObject({ code: 'OBJECT_TOO_LARGE' })
    await intake.store('2026/11/c', body(), { maxBytes: 100 })
    await intake.withdraw('2026/11/c')
    await intake.withdraw('2026/11/c')
    for (const key of ['2026/11/b', '2026/11/c']) {
      expect(await archive.stat(key)).toBeNull()
      await expect(archive.openRead(key)).rejects.toMatchObject({ code: 'OBJECT_MISSING' })
    }
  })

  test.each(['../outside', '/etc/passwd', '2026/../../x', ''])('has no key %j', async (key) => {
    await expect(archives[name]!.archive.openRead(key)).rejects.toThrow(/cannot be the key/)
  })
})

test('files in a folder are for nobody to write, and a link is not followed', async () => {
  const { archive, intake } = archives['a folder']!
  await intake.store('2026/11/d', body(), { maxBytes: 100 })
  expect((await stat(join(folder, '2026/11/d'))).mode & 0o777).toBe(0o444)
  await writeFile(join(folder, 'secret'), 'elsewhere')
  await symlink(join(folder, 'secret'), join(folder, '2026/11/e'))
  await expect(archive.openRead('2026/11/e')).rejects.toMatchObject({ code: 'ELOOP' })
  await expect(intake.store('2026/11/e', body(), { maxBytes: 100 })).rejects.toMatchObject({ code: 'OBJECT_EXISTS' })
  expect(await readdir(join(folder, '2026/11'))).toEqual(expect.arrayContaining(['a', 'd', 'e']))
})
