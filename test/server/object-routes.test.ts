import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { GraphQLError } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFolderStore } from '../../src/objects/folder-store.ts'
import type { ObjectStore } from '../../src/objects/object-store.ts'
import { createLinkSigner } from '../../src/objects/signed-links.ts'
import { createMaskError } from '../../src/server/mask-errors.ts'
import { createObjectRoutes } from '../../src/server/object-routes.ts'
import { createOriginOf } from '../../src/server/origins.ts'
import { createRouter } from '../../src/server/router.ts'
import { until } from '../support/until.ts'

let folder: string
let store: ObjectStore
let server: Server
let url: string
const unforeseen: unknown[] = []
let now = Date.now()
const signer = createLinkSigner('secret', () => now)
let count = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-routes-'))
  store = await createFolderStore(folder)
  const routes = createObjectRoutes({
    store,
    signer,
    originOf: createOriginOf(['https://app.example.org']),
    idleMs: 1_000,
  })
  const maskError = createMaskError({ suggestions: false, onUnforeseen: (error) => unforeseen.push(error) })
  server = createServer(createRouter({ routes, maskError }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await rm(folder, { recursive: true })
})

const type = 'text/plain'
const uploadOf = (sizeBytes: number) => {
  const key = `incoming/t/${(count += 1)}`
  return { key, link: url + signer.upload(key, { sizeBytes, contentType: type, expiresInMs: 600_000 }) }
}
const put = (link: string, body: RequestInit['body'], headers: Record<string, string> = { 'content-type': type }) =>
  fetch(link, {
    method: 'PUT',
    headers,
    body,
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  } as RequestInit)
const stored = async (key: string) => (await store.stat(key))?.sizeBytes ?? null

test('what was announced is stored, once', async () => {
  const { key, link } = uploadOf(5)
  const answer = await put(link, 'hello')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('etag')).toBe(`"${(await store.stat(key))!.etag}"`)
  expect((await put(link, 'other')).status).toBe(409)
  expect(await stored(key)).toBe(5)
})

test.each([
  ['more bytes', 'hello!', 413],
  ['fewer bytes', 'hell', 400],
  ['no bytes', '', 400],
])('KINDS 7.7: %s than announced are refused', async (_, body, status) => {
  const { key, link } = uploadOf(5)
  expect((await put(link, body)).status).toBe(status)
  expect(await stored(key)).toBeNull()
  expect((await put(link, 'hello')).status).toBe(200)
})

test.each([
  ['more', 'hello!', 413],
  ['fewer', 'hell', 400],
])('KINDS 7.7: %s than announced, of a size not told before, are refused', async (_, text, status) => {
  const { key, link } = uploadOf(5)
  const answer = await put(link, new Blob([text]).stream())
  expect(answer.status).toBe(status)
  expect(await stored(key)).toBeNull()
})

test.each([{ 'content-type': 'text/html' }, { 'content-type': 'text/plain; charset=utf-8' }])(
  'KINDS 7.7: another type is refused: %j',
  async (headers) => {
    const { key, link } = uploadOf(5)
    expect((await put(link, 'hello', headers)).status).toBe(400)
    expect(await stored(key)).toBeNull()
  },
)

test('KINDS 7.7: an expired URL and one that was changed are refused', async () => {
  const { key, link } = uploadOf(5)
  expect((await put(link.replace('size=5', 'size=6'), 'hello!')).status).toBe(403)
  now += 601_000
  const answer = await put(link, 'hello')
  now -= 601_000
  expect(answer.status).toBe(403)
  expect(await answer.json()).toMatchObject({ errors: [{ message: expect.stringContaining('expired') }] })
  expect(await stored(key)).toBeNull()
})

test('far too many bytes still get their answer', async () => {
  const { key, link } = uploadOf(5)
  expect((await put(link, new Uint8Array(8 * 1024 * 1024))).status).toBe(413)
  expect(await stored(key)).toBeNull()
})

test('an upload that breaks off, and one that stops, leave nothing and can be sent again', async () => {
  const { key, link } = uploadOf(1_000)
  const begin = () => {
    const sending = httpRequest(link, { method: 'PUT', headers: { 'content-type': type, 'content-length': 1_000 } })
    sending.on('error', () => undefined)
    sending.write('x'.repeat(500))
    return sending
  }
  const unfinished = async () => (await readdir(join(folder, '.unfinished'))).length
  const broken = begin()
  await until(async () => (await unfinished()) > 0, 'it has begun')
  broken.destroy()
  await until(async () => (await unfinished()) === 0, 'nothing is left')
  const stopped = begin()
  const closed = new Promise((resolve) => stopped.once('close', resolve))
  await closed
  await until(async () => (await unfinished()) === 0, 'nothing is left')
  expect(await stored(key)).toBeNull()
  expect((await put(link, 'x'.repeat(1_000))).status).toBe(200)
})

test('a download gives the bytes under their name, and never as a page', async () => {
  const bytes = '<script>alert(1)</script>'
  await store.put('objects/t/page', Readable.from([Buffer.from(bytes)]), { maxBytes: 100 })
  const link = signer.download('objects/t/page', {
    filename: 'a "b".html',
    contentType: 'text/html',
    expiresInMs: 300_000,
  })
  const answer = await fetch(url + link)
  expect(await answer.text()).toBe(bytes)
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'text/html',
    'content-length': String(bytes.length),
    'content-disposition': `attachment; filename="a _b_.html"; filename*=UTF-8''a%20%22b%22.html`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
  })
  const head = await fetch(url + link, { method: 'HEAD' })
  expect(head.headers.get('content-length')).toBe(String(bytes.length))
  expect(await head.text()).toBe('')
})

test('bytes that are gone, an expired URL, and a path that is no link', async () => {
  const link = signer.download('objects/t/gone', { filename: 'a', contentType: type, expiresInMs: 300_000 })
  expect((await fetch(url + link)).status).toBe(404)
  now += 301_000
  expect((await fetch(url + link)).status).toBe(403)
  now -= 301_000
  for (const path of [
    '/downloads/',
    '/downloads/../.secret',
    '/downloads/.secret',
    '/downloads/%2e%2e/.id',
    '/uploads/x',
  ])
    expect((await fetch(url + path)).status).toBeGreaterThanOrEqual(403)
})

test('only listed pages may read an answer', async () => {
  const { link } = uploadOf(5)
  const ask = (origin: string) => fetch(link, { method: 'OPTIONS', headers: { origin } })
  const listed = await ask('https://app.example.org')
  expect(listed.status).toBe(204)
  expect(listed.headers.get('access-control-allow-origin')).toBe('https://app.example.org')
  expect(listed.headers.get('access-control-allow-methods')).toBe('PUT')
  expect((await ask('https://elsewhere.example')).headers.get('access-control-allow-origin')).toBeNull()
})

test('a body that takes longer than its path allows is cut off with an answer', async () => {
  const routes = { '/quick': { POST: () => new Promise<void>(() => undefined), bodyWithinMs: 50 } }
  const quick = createServer(createRouter({ routes, maskError: () => new GraphQLError('') }))
  await new Promise<void>((resolve) => quick.listen(0, '127.0.0.1', resolve))
  const { port } = quick.address() as AddressInfo
  const sending = httpRequest({ port, path: '/quick', method: 'POST', headers: { 'content-length': 10 } })
  sending.on('error', () => undefined)
  sending.write('half')
  const [answer] = (await once(sending, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(408)
  quick.closeAllConnections()
  await new Promise((resolve) => quick.close(resolve))
})

test('an answer may take longer than the body that was here at once', async () => {
  const answers = (_: IncomingMessage, response: ServerResponse) => wait(40).then(() => void response.end('late'))
  const routes = { '/slow': { POST: answers, bodyWithinMs: 20 } }
  const slow = createServer(createRouter({ routes, maskError: () => new GraphQLError('') }))
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
  const { port } = slow.address() as AddressInfo
  const answer = await fetch(`http://127.0.0.1:${port}/slow`, { method: 'POST', body: 'whole' })
  expect(await answer.text()).toBe('late')
  slow.closeAllConnections()
  await new Promise((resolve) => slow.close(resolve))
})

test('what was opened for a reader who has gone meanwhile is closed', async () => {
  const [{ key, link: upload }, opened] = [uploadOf(5), [] as Readable[]]
  await put(upload, 'bytes')
  const gone = Promise.withResolvers<void>()
  const routes = createObjectRoutes({
    store: {
      ...store,
      async openRead(wanted) {
        await gone.promise
        const body = await store.openRead(wanted)
        opened.push(body)
        return body
      },
    },
    signer,
    originOf: createOriginOf([]),
  })
  const maskError = createMaskError({ suggestions: false, onUnforeseen: (error) => unforeseen.push(error) })
  const slow = createServer(createRouter({ routes, maskError }))
  slow.on('request', (_, response) => response.once('close', gone.resolve))
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
  const { port } = slow.address() as AddressInfo
  const path = signer.download(key, { filename: 'a', contentType: type, expiresInMs: 600_000 })
  const reading = httpRequest({ port, path })
  reading.on('error', () => undefined).end()
  setTimeout(() => reading.destroy(), 50)
  await until(() => opened.length > 0, 'it was opened')
  expect(await until(() => opened[0]!.closed, 'it is closed again')).toBe(true)
  slow.closeAllConnections()
  await new Promise((resolve) => slow.close(resolve))
})

test('none of this was a fault of ours', () => {
  expect(unforeseen).toEqual([])
})
