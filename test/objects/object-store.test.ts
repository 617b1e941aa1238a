import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attachmentDisposition } from '../../src/objects/disposition.ts'
import { createFolderStore, folderSecret } from '../../src/objects/folder-store.ts'
import {
  isObjectKey,
  ObjectChanged,
  ObjectExists,
  ObjectMissing,
  ObjectTooLarge,
  ObjectTooSmall,
  type ObjectStore,
} from '../../src/objects/object-store.ts'
import { createS3Store } from '../../src/objects/s3-store.ts'
import { startS3Server, type S3Server } from '../support/s3-server.ts'

let folder: string
let s3: S3Server
const stores: { folder?: ObjectStore; s3?: ReturnType<typeof createS3Store> } = {}
let count = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-objects-'))
  s3 = await startS3Server()
  stores.folder = await createFolderStore(folder)
  stores.s3 = createS3Store(s3.settings)
})

afterAll(async () => {
  stores.s3?.close()
  await s3?.stop()
  await rm(folder, { recursive: true })
})

const newKey = (): string => `incoming/tenant/file-${(count += 1)}`
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const plenty = { maxBytes: 100 * 1024 * 1024 }

describe.each(['folder', 's3'] as const)('%s', (name) => {
  const put = (key: string, bytes: Buffer, limits: { maxBytes: number; minBytes?: number } = plenty) =>
    stores[name]!.put(
      key,
      Readable.from([bytes.subarray(0, 5), bytes.subarray(5)].filter((part) => part.length > 0)),
      limits,
    )
  const read = async (key: string): Promise<Buffer> => buffer(await stores[name]!.openRead(key))

  test.each([0, 1, 70_000, 8 * 1024 * 1024, 20 * 1024 * 1024 + 7])('%i bytes come back as they were', async (size) => {
    const key = newKey()
    const bytes = randomBytes(size)
    const stored = await put(key, bytes)
    expect(stored).toMatchObject({ sizeBytes: size, sha256: sha256(bytes) })
    expect(await stores[name]!.stat(key)).toEqual({ sizeBytes: size, etag: stored.etag })
    expect((await read(key)).equals(bytes)).toBe(true)
  })

  test('a key is stored once', async () => {
    const key = newKey()
    await put(key, Buffer.from('first'))
    await expect(put(key, Buffer.from('second'))).rejects.toThrow(ObjectExists)
    expect(String(await read(key))).toBe('first')
  })

  test('too many bytes, too few and a stream that breaks leave nothing', async () => {
    const key = newKey()
    await expect(put(key, Buffer.alloc(11), { maxBytes: 10 })).rejects.toThrow(ObjectTooLarge)
    await expect(put(key, Buffer.alloc(9), { maxBytes: 10, minBytes: 10 })).rejects.toThrow(ObjectTooSmall)
    const broken = Readable.from(
      (async function* () {
        yield Buffer.alloc(9 * 1024 * 1024)
        yield Buffer.alloc(9 * 1024 * 1024)
        throw new Error('cable')
      })(),
    )
    await expect(stores[name]!.put(key, broken, plenty)).rejects.toThrow('cable')
    expect(await stores[name]!.stat(key)).toBeNull()
    await expect(stores[name]!.openRead(key)).rejects.toThrow(ObjectMissing)
  })

  test('a signal ends a put that hangs', async () => {
    const key = newKey()
    const hanging = new Readable({ read() {} })
    hanging.push(Buffer.alloc(10))
    const control = new AbortController()
    const putting = stores[name]!.put(key, hanging, { ...plenty, signal: control.signal })
    control.abort(new Error('enough'))
    await expect(putting).rejects.toThrow(/enough|aborted/)
    expect(await stores[name]!.stat(key)).toBeNull()
  })

  test('move and copy', async () => {
    const [from, to, twin] = [newKey(), newKey(), newKey()]
    const { etag } = await put(from, Buffer.from('bytes'))
    await put(twin, Buffer.from('other'))
    await expect(stores[name]!.move(from, to, 'another-etag')).rejects.toThrow(ObjectChanged)
    await stores[name]!.move(from, to, etag)
    expect(await stores[name]!.stat(from)).toBeNull()
    await stores[name]!.copy(to, twin)
    await stores[name]!.copy(to, twin)
    await stores[name]!.remove(to)
    await stores[name]!.remove(to)
    expect(String(await read(twin))).toBe('bytes')
    await expect(stores[name]!.move(to, from)).rejects.toThrow(ObjectMissing)
    await expect(stores[name]!.copy(to, from)).rejects.toThrow(ObjectMissing)
  })

  test('what was opened is read to its end', async () => {
    const key = newKey()
    const bytes = randomBytes(3 * 1024 * 1024)
    await put(key, bytes)
    const body = await stores[name]!.openRead(key)
    await stores[name]!.remove(key)
    expect((await buffer(body)).equals(bytes)).toBe(true)
  })

  test('a key that is none never reaches the store', async () => {
    for (const key of ['../outside', 'a/../../b', '/etc/passwd', 'a//b', '.secret', 'a/.id', 'a\0b', 'a b', 'a/']) {
      expect(isObjectKey(key)).toBe(false)
      await expect(put(key, Buffer.from('x'))).rejects.toThrow(TypeError)
      await expect(stores[name]!.openRead(key)).rejects.toThrow(TypeError)
      await expect(stores[name]!.copy('a', key)).rejects.toThrow('cannot be the key of an object')
    }
  })
})

test('files are for their owner alone, and nothing unfinished stays', async () => {
  const key = newKey()
  await stores.folder!.put(key, Readable.from([Buffer.from('x')]), plenty)
  expect((await stat(join(folder, key))).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'incoming'))).mode & 0o777).toBe(0o700)
  // As many as show a file that is opened only after its body broke, which happened to one in a hundred.
  const breaks = async (nth: number): Promise<void> => {
    const body = Readable.from(nth % 2 === 0 ? [Buffer.alloc(5), Buffer.alloc(6)] : brokenAtOnce())
    await expect(stores.folder!.put(newKey(), body, { maxBytes: 10 })).rejects.toThrow(/10 bytes|cable/)
  }
  for (let round = 0; round < 50; round += 1)
    await Promise.all(Array.from({ length: 20 }, async (_, nth) => breaks(nth)))
  expect(await readdir(join(folder, '.unfinished'))).toEqual([])
})

const brokenAtOnce = (): Readable =>
  new Readable({
    read() {
      this.destroy(new Error('cable'))
    },
  })

test('two who store the same key at once: one of them is told', async () => {
  const key = newKey()
  const put = (text: string) => stores.folder!.put(key, Readable.from([Buffer.from(text)]), plenty)
  const ends = await Promise.allSettled([put('one'), put('two'), put('three')])
  expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
})

test('who shares a folder shares its name and its secret', async () => {
  const [again, ...more] = await Promise.all([createFolderStore(folder), folderSecret(folder), folderSecret(folder)])
  expect(again.id).toBe(stores.folder!.id)
  expect(more[0]).toBe(more[1])
  expect(more[0]).toMatch(/^[0-9a-f]{64}$/)
})

test.each([
  ['report.pdf', 'attachment; filename="report.pdf"'],
  ['grüße (1).txt', `attachment; filename="gr__e (1).txt"; filename*=UTF-8''gr%C3%BC%C3%9Fe%20%281%29.txt`],
  ['a"; x="b\r\nc', `attachment; filename="a__ x__b__c"; filename*=UTF-8''a%22%3B%20x%3D%22b%0D%0Ac`],
])('%j is saved under its name', (filename, disposition) => {
  expect(attachmentDisposition(filename)).toBe(disposition)
})

describe('direct links of S3', () => {
  const upload = async (size: number) => {
    const key = newKey()
    const terms = { sizeBytes: size, contentType: 'text/plain', expiresInMs: 60_000 }
    return { key, ...(await stores.s3!.direct.upload(key, terms)) }
  }

  test('takes the announced bytes and gives them back under their name', async () => {
    const { key, url, headers } = await upload(5)
    expect((await fetch(url, { method: 'PUT', headers, body: 'hello' })).status).toBe(200)
    const answer = await fetch(
      // This server signs `'` and `*` in a way of its own, which names beyond ASCII have in theirs.
      await stores.s3!.direct.download(key, { filename: 'a b.txt', contentType: 'text/plain', expiresInMs: 60_000 }),
    )
    expect(await answer.text()).toBe('hello')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="a b.txt"')
  })

  test('KINDS 7.7: another size or type is refused', async () => {
    const { key, url, headers } = await upload(5)
    expect((await fetch(url, { method: 'PUT', headers, body: 'hello!' })).status).toBe(403)
    expect((await fetch(url, { method: 'PUT', headers: { 'content-type': 'text/html' }, body: 'hello' })).status).toBe(
      403,
    )
    expect(await stores.s3!.stat(key)).toBeNull()
  })
})
