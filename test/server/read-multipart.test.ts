import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMultipart } from '../../src/server/read-multipart.ts'
import { HttpError, sendError } from '../../src/server/send.ts'
import { until } from '../support/until.ts'

const most = 20 * 1024 * 1024
let server: Server
let url: string
/** Files that are stored, and what other errors there were. */
const stored = new Set<number>()
const errors: Error[] = []
let begun = 0

beforeAll(async () => {
  let next = 0
  server = createServer((incoming, response) => {
    const read = async (): Promise<void> => {
      const { fields, file } = await readMultipart(incoming, {
        file: 'file',
        fields: ['a', 'b'],
        async store({ filename, contentType, body }) {
          begun += 1
          let bytes = 0
          for await (const chunk of body) {
            bytes += (chunk as Buffer).length
            if (bytes > most) throw new HttpError(413, 'BAD_USER_INPUT', 'Too large.', { connection: 'close' })
          }
          next += 1
          stored.add(next)
          return { id: next, filename, contentType, bytes }
        },
        discard: async ({ id }) => void stored.delete(id),
      })
      response.end(JSON.stringify({ ...file, fields: Object.fromEntries(fields) }))
    }
    read().catch((error: Error) => {
      if (error instanceof HttpError) sendError(response, error)
      else errors.push(error)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

type Part = readonly [name: string, value: string | Buffer, filename?: string]

async function post(...parts: readonly Part[]) {
  const form = new FormData()
  for (const [name, value, filename] of parts) {
    if (filename === undefined) form.append(name, String(value))
    else form.append(name, new Blob([Buffer.from(value)]), filename)
  }
  const answer = await fetch(url, { method: 'POST', body: form })
  return { status: answer.status, text: await answer.text() }
}

test('fields may stand before and behind the file, whose name has no folders', async () => {
  const { status, text } = await post(['a', 'ü'], ['file', 'x'.repeat(3_000_000), 'C:\\Users\\ü/b ä.csv'], ['b', ''])
  expect(status).toBe(200)
  expect(JSON.parse(text)).toMatchObject({ filename: 'b ä.csv', bytes: 3_000_000, fields: { a: 'ü', b: '' } })
})

test.each<[string, readonly Part[], string]>([
  ['no file', [['a', '1']], 'no file'],
  [
    'two files',
    [
      ['file', 'x', 'x.csv'],
      ['file', 'y', 'y.csv'],
    ],
    'more than one file',
  ],
  [
    'another file',
    [
      ['file', 'x', 'x.csv'],
      ['other', 'y', 'y.csv'],
    ],
    'a file named other',
  ],
  [
    'an unknown field',
    [
      ['file', 'x', 'x.csv'],
      ['c', '1'],
    ],
    'a field named c',
  ],
  [
    'a field twice',
    [
      ['file', 'x', 'x.csv'],
      ['a', '1'],
      ['a', '2'],
    ],
    'comes twice',
  ],
  [
    'a field that is too long',
    [
      ['file', 'x', 'x.csv'],
      ['a', 'x'.repeat(70_000)],
    ],
    '64 KiB',
  ],
])('%s is refused, and nothing stays stored', async (_, parts, message) => {
  const before = stored.size
  const { status, text } = await post(...parts)
  expect(status).toBe(400)
  expect(text).toContain(message)
  expect(stored.size).toBe(before)
})

test('a file that is too large is refused while it comes, and its sender hears so', async () => {
  const { status } = await post(['file', Buffer.alloc(60 * 1024 * 1024), 'x.csv'])
  expect(status).toBe(413)
})

test.each([
  ['no form', { 'content-type': 'text/csv' }, 'name\nAda', 415],
  ['no boundary', { 'content-type': 'multipart/form-data' }, 'x', 415],
  ['an empty boundary', { 'content-type': 'multipart/form-data; boundary=' }, 'x', 400],
  [
    'a form that ends early',
    { 'content-type': 'multipart/form-data; boundary=x' },
    '--x\r\ncontent-disposition: form-data; name=file; filename=a\r\n\r\nabc',
    400,
  ],
  [
    'headers without end',
    { 'content-type': 'multipart/form-data; boundary=x' },
    `--x\r\ncontent-disposition: form-data; name="${'y'.repeat(100_000)}`,
    400,
  ],
])('%s is refused', async (_, headers, body, status) => {
  const answer = await fetch(url, { method: 'POST', headers, body })
  expect(answer.status).toBe(status)
})

test('a client that goes away leaves nothing behind', async () => {
  const before = stored.size
  const begunBefore = begun
  const call = request(url, {
    method: 'POST',
    headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': 1_000_000 },
  })
  call.on('error', () => {})
  call.write('--x\r\ncontent-disposition: form-data; name=file; filename=a\r\n\r\nabc')
  await until(() => begun > begunBefore, 'the file is on its way')
  call.destroy()
  await until(() => errors.length > 0, 'the server has heard of it')
  expect(errors[0]!.message).toMatch(/went away|aborted/)
  expect(stored.size).toBe(before)
})
