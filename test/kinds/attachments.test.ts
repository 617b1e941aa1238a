import { createCipheriv, createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clamdMissing, eicar, startClamd, type TestClamd } from '../support/clamd.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { zip } from '../support/zip.ts'

interface Attachment {
  readonly id: string
  readonly virusScanStatus: string
  readonly virusSignature: string | null
  readonly contentType: string | null
  readonly sha256: string | null
  readonly downloadUrl: string | null
  readonly job: { readonly status: string; readonly attemptCount: number } | null
}

const fields = 'id virusScanStatus virusSignature contentType sha256 downloadUrl job { status attemptCount }'
const mib = 1024 * 1024

describe('attachments on a real clamd', () => {
  if (clamdMissing !== null) {
    leaveOut(clamdMissing)
    return
  }

  let clamd: TestClamd
  let database: TestDatabase
  let service: Service
  let dataDir: string
  let url: string
  let token: string

  beforeAll(async () => {
    clamd = await startClamd()
    database = await testDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-attachments-'))
    service = startService({
      dataDir,
      settings: {
        DATABASE_URL: database.url,
        STELLWERK_ENV: 'development',
        CLAMD_URL: clamd.url,
        STELLWERK_MAX_UPLOAD_MB: '60',
        STELLWERK_KIND_VIRUS_SCAN:
          '{"timeoutMs": 10000, "backoff": {"baseMs": 100, "maxMs": 1000, "jitter": 0.1}, "maxAttempts": 100}',
      },
    })
    await service.started()
    url = await service.url()
    token = await service.token()
  })

  afterAll(async () => {
    await service?.stop()
    await clamd?.stop()
    await database?.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  // What a test asks for it knows the shape of.
  // oxlint-disable-next-line typescript/no-explicit-any
  const ask = async (query: string, variables: object = {}): Promise<any> => {
    const answer = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = (await answer.json()) as { data: unknown; errors?: unknown }
    expect(errors).toBeUndefined()
    return data
  }
  const request = async (bytes: Buffer, filename = 'file.bin', contentType = 'application/octet-stream') => {
    const { requestUpload } = await ask(
      `mutation ($input: RequestUploadInput!) { requestUpload(input: $input) { attachment { id virusScanStatus } uploadUrl uploadHeaders errors { message } } }`,
      { input: { filename, sizeBytes: bytes.length, contentType } },
    )
    expect(requestUpload.errors).toEqual([])
    return requestUpload as { attachment: { id: string }; uploadUrl: string; uploadHeaders: Record<string, string> }
  }
  const put = (to: { uploadUrl: string; uploadHeaders: Record<string, string> }, bytes: Buffer) =>
    fetch(to.uploadUrl, { method: 'PUT', headers: to.uploadHeaders, body: new Uint8Array(bytes) })
  const commit = async (id: string): Promise<Attachment> => {
    const { commitUpload } = await ask(
      `mutation ($id: ID!) { commitUpload(id: $id) { attachment { ${fields} } errors { message } } }`,
      { id },
    )
    expect(commitUpload.errors).toEqual([])
    return commitUpload.attachment
  }
  const upload = async (bytes: Buffer, filename?: string, type?: string): Promise<string> => {
    const requested = await request(bytes, filename, type)
    expect((await put(requested, bytes)).status).toBe(200)
    expect(await commit(requested.attachment.id)).toMatchObject({ id: requested.attachment.id })
    return requested.attachment.id
  }
  const attachment = async (id: string): Promise<Attachment> =>
    (await ask(`query ($id: ID!) { node(id: $id) { ... on Attachment { ${fields} } } }`, { id })).node
  const judged = (id: string, withinMs = 10_000): Promise<Attachment> =>
    until(
      async () => {
        const now = await attachment(id)
        return ['PENDING', 'SCANNING'].includes(now.virusScanStatus) ? null : now
      },
      'it is judged',
      withinMs,
    )
  const download = async (from: string | null): Promise<Buffer> => {
    const answer = await fetch(from!)
    expect(answer.status).toBe(200)
    return Buffer.from(await answer.arrayBuffer())
  }
  const isInQuarantine = async (id: string): Promise<boolean> => {
    const entries = await readdir(join(dataDir, 'objects', 'quarantine'), { recursive: true, withFileTypes: true })
    return entries.some((entry) => entry.isFile() && entry.parentPath.endsWith(id.replace('attachment_', '')))
  }

  test('KINDS 7.1: upload, commit, clean, and the download works', async () => {
    const bytes = Buffer.from('Grüße, Welt.\n'.repeat(1_000))
    const id = await upload(bytes, 'grüße.txt', 'text/plain; charset=utf-8')
    const clean = await judged(id, 2_000)
    expect(clean).toMatchObject({
      virusScanStatus: 'CLEAN',
      virusSignature: null,
      contentType: 'text/plain',
      sha256: createHash('sha256').update(bytes).digest('hex'),
    })
    const answer = await fetch(clean.downloadUrl!)
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
    expect(answer.headers.get('content-disposition')).toContain(`filename*=UTF-8''gr%C3%BC%C3%9Fe.txt`)
    expect(answer.headers.get('content-security-policy')).toContain('sandbox')
    await until(async () => (await attachment(id)).job?.status === 'DONE', 'its job is done')
  })

  test.each([
    ['EICAR', eicar],
    ['EICAR with a line end', Buffer.concat([eicar, Buffer.from('\n')])],
    ['EICAR in a zip in a zip', zip({ 'b.zip': zip({ 'a.txt': eicar }) })],
    ['EICAR at the end of 5 MB', Buffer.concat([randomBytes(5 * mib), eicar])],
  ])('KINDS 7.1: %s is infected: no URL, and it lies in quarantine', async (_, bytes) => {
    const found = await judged(await upload(bytes))
    expect(found).toMatchObject({ virusScanStatus: 'INFECTED', downloadUrl: null })
    expect(found.virusSignature).toContain('Eicar')
    expect(await isInQuarantine(found.id)).toBe(true)
    await until(async () => (await attachment(found.id)).job?.status === 'DONE', 'its job is done')
  })

  test('KINDS 7.2: there is no download before the scan, also not by guessing', async () => {
    clamd.freeze()
    try {
      const requested = await request(eicar)
      await put(requested, eicar)
      expect(await commit(requested.attachment.id)).toMatchObject({ virusScanStatus: 'PENDING', downloadUrl: null })
      const guessed = requested.uploadUrl.replace('/uploads/', '/downloads/')
      expect((await fetch(guessed)).status).toBe(403)
      expect((await fetch(requested.uploadUrl)).status).toBe(405)
      expect((await attachment(requested.attachment.id)).downloadUrl).toBeNull()
    } finally {
      clamd.thaw()
    }
  })

  test('V03, KINDS 7.3: clamd stopped: the job tries again, then it is clean', async () => {
    await clamd.kill()
    const id = await upload(Buffer.from('later'))
    const waiting = await until(async () => {
      const now = await attachment(id)
      return now.job!.attemptCount >= 2 ? now : null
    }, 'it was tried twice')
    expect(waiting.virusScanStatus).toMatch(/^(?:PENDING|SCANNING)$/)
    await clamd.start()
    expect(await judged(id)).toMatchObject({ virusScanStatus: 'CLEAN' })
  })

  test('KINDS 7.3: clamd hangs: the slot is free after the timeout', async () => {
    clamd.freeze()
    const id = await upload(Buffer.from('patience'))
    await until(async () => (await attachment(id)).job!.attemptCount >= 2, 'the first attempt was ended', 25_000)
    clamd.thaw()
    expect(await judged(id)).toMatchObject({ virusScanStatus: 'CLEAN' })
  })

  test('KINDS 7.4: the URL that is still valid overwrites nothing', async () => {
    const bytes = Buffer.from('x'.repeat(eicar.length))
    const requested = await request(bytes)
    await put(requested, bytes)
    expect((await put(requested, eicar)).status).toBe(409)
    await commit(requested.attachment.id)
    await put(requested, eicar)
    const clean = await judged(requested.attachment.id)
    await put(requested, eicar)
    expect(clean).toMatchObject({ virusScanStatus: 'CLEAN', sha256: createHash('sha256').update(bytes).digest('hex') })
    expect((await download(clean.downloadUrl)).equals(bytes)).toBe(true)
    expect((await download((await attachment(clean.id)).downloadUrl)).equals(bytes)).toBe(true)
  })

  test.each([
    ['an encrypted zip', zip({ 'a.txt': eicar }, { encrypted: true })],
    [
      'a zip whose member unpacks to more than is scanned',
      zip({ 'a.bin': Buffer.concat([Buffer.alloc(63 * mib), eicar]) }),
    ],
    ['the same in another zip', zip({ 'b.zip': zip({ 'a.bin': Buffer.concat([Buffer.alloc(63 * mib), eicar]) }) })],
    ['twenty zips, one in the other', Array.from({ length: 20 }).reduce<Buffer>((inner) => zip({ n: inner }), eicar)],
  ])('KINDS 7.5: %s is unscannable, not clean', async (_, bytes) => {
    expect(await judged(await upload(bytes))).toMatchObject({ virusScanStatus: 'UNSCANNABLE', downloadUrl: null })
  })

  test('KINDS 7.7: another size or type, or nothing, is refused', async () => {
    const bytes = Buffer.from('exactly')
    const requested = await request(bytes, 'a.txt', 'text/plain')
    const send = (body: string, type = 'text/plain') =>
      fetch(requested.uploadUrl, { method: 'PUT', headers: { 'content-type': type }, body })
    expect((await send('exactly more')).status).toBe(413)
    expect((await send('less')).status).toBe(400)
    expect((await send('exactly', 'text/html')).status).toBe(400)
    const { commitUpload } = await ask(`mutation ($id: ID!) { commitUpload(id: $id) { errors { message } } }`, {
      id: requested.attachment.id,
    })
    expect(commitUpload.errors).toMatchObject([{ message: expect.stringContaining('no bytes yet') }])
    expect((await send('exactly')).status).toBe(200)
    expect(await commit(requested.attachment.id)).toMatchObject({ virusScanStatus: 'PENDING' })
  })

  test('a file that lies about its type is served as what it is', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
    const clean = await judged(await upload(png, 'page.html', 'text/html'))
    expect(clean).toMatchObject({ virusScanStatus: 'CLEAN', contentType: 'image/png' })
    expect((await fetch(clean.downloadUrl!)).headers.get('content-type')).toBe('image/png')
  })

  test('rescan: locked until it is judged again', async () => {
    const id = await upload(Buffer.from('again'))
    await judged(id)
    const { rescanAttachment } = await ask(
      `mutation ($id: ID!) { rescanAttachment(id: $id) { attachment { ${fields} } errors { message } } }`,
      { id },
    )
    expect(rescanAttachment).toMatchObject({
      errors: [],
      attachment: { virusScanStatus: 'PENDING', downloadUrl: null },
    })
    expect(await judged(id)).toMatchObject({ virusScanStatus: 'CLEAN' })
  })

  test('KINDS 7.8: 50 MB pass through without being held', { timeout: 150_000 }, async () => {
    const rss = async (): Promise<number> => {
      const status = await readFile(`/proc/${service.pid}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1_024
    }
    // The same noise each time: in one of twelve at random clamd sees another file begin, looks at that too, and is beyond MaxScanSize.
    const bytes = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16)).update(Buffer.alloc(50 * mib))
    await judged(await upload(randomBytes(1_000)))
    const before = await rss()
    let most = 0
    let watching = true
    const watched = (async () => {
      while (watching) {
        most = Math.max(most, await rss())
        await delay(10)
      }
    })()
    const clean = await judged(await upload(bytes), 60_000)
    watching = false
    await watched
    expect(clean).toMatchObject({ virusScanStatus: 'CLEAN' })
    expect((most - before) / mib).toBeLessThan(30)
  })
})
