import { createServer } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkServer } from '../../src/db/check-server.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

test('a fit server is ready', async () => {
  expect(await checkServer(database.url)).toEqual({ kind: 'ready' })
})

test('a database that does not exist is refused and named', async () => {
  const url = new URL(database.url)
  url.pathname = '/nowhere'
  expect(await checkServer(url.href)).toEqual({
    kind: 'refused',
    message: expect.stringContaining('no database "nowhere" (3D000)'),
  })
})

test('a user that does not exist is refused, and the password is not repeated', async () => {
  const url = new URL(database.url)
  url.username = 'stranger'
  url.password = 'swordfish'
  const check = await checkServer(url.href)
  expect(check).toEqual({ kind: 'refused', message: expect.stringContaining('"stranger"') })
  expect(JSON.stringify(check)).not.toContain('swordfish')
})

test('a user without the right to connect is refused', async () => {
  const name = new URL(database.url).pathname.slice(1)
  await database.sql(`create role no_right_${name} login`)
  await database.sql(`revoke connect on database ${name} from public`)
  const url = new URL(database.url)
  url.username = `no_right_${name}`
  expect(await checkServer(url.href)).toEqual({ kind: 'refused', message: expect.stringContaining('Grant CONNECT') })
  await database.sql(`drop role no_right_${name}`)
})

test('what is no URL is refused without being repeated', async () => {
  const check = await checkServer('postgresql://me:swordfish@[broken')
  expect(check.kind).toBe('refused')
  expect(JSON.stringify(check)).not.toContain('swordfish')
})

test('a closed port is unreachable, which may pass', async () => {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as { port: number }
  listener.close()
  await once(listener, 'close')
  const check = await checkServer(`postgresql://me:swordfish@127.0.0.1:${port}/any`)
  expect(check).toEqual({
    kind: 'unreachable',
    message: `The database server at 127.0.0.1:${port} cannot be reached now (ECONNREFUSED).`,
  })
})

test.for([
  { code: '28P01', kind: 'refused', says: 'password' },
  { code: '28000', kind: 'refused', says: 'pg_hba.conf' },
  { code: '57P03', kind: 'unreachable', says: '57P03' },
  { code: '53300', kind: 'unreachable', says: '53300' },
])('a server that answers $code is $kind', async ({ code, kind, says }) => {
  await withServer(errorAnswer(code), async (url) => {
    const check = await checkServer(url)
    expect(check).toEqual({ kind, message: expect.stringContaining(says) })
    expect(JSON.stringify(check)).not.toContain('swordfish')
  })
})

test('a server that hangs up is unreachable', async () => {
  await withServer(null, async (url) => {
    expect((await checkServer(url)).kind).toBe('unreachable')
  })
})

test('a server that is too old is refused', async () => {
  await withServer(oldServerAnswers(), async (url) => {
    expect(await checkServer(url)).toEqual({
      kind: 'refused',
      message: expect.stringMatching(/runs PostgreSQL 15\.9, Stellwerk needs 16 or newer/),
    })
  })
})

/** Listens like a PostgreSQL server that answers each message with the next of the given bytes, or hangs up at once. */
async function withServer(answers: Buffer[] | null, work: (url: string) => Promise<void>): Promise<void> {
  const listener = createServer((socket) => {
    if (!answers) return socket.destroy()
    const left = [...answers]
    socket.on('error', () => {})
    socket.on('data', () => {
      const answer = left.shift()
      if (answer) socket.write(answer)
    })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as { port: number }
  try {
    await work(`postgresql://me:swordfish@127.0.0.1:${port}/any`)
  } finally {
    listener.close()
  }
}

function errorAnswer(code: string): Buffer[] {
  return [message('E', Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mnot now\0\0`))]
}

/** The bytes of a server of version 15: no server that old comes from npm. */
function oldServerAnswers(): Buffer[] {
  const ready = message('Z', Buffer.from('I'))
  const columns = [column('number', 23), column('name', 25)]
  const values = [value('150009'), value('15.9')]
  return [
    Buffer.concat([message('R', int32(0)), ready]),
    Buffer.concat([
      message('T', Buffer.concat([int16(2), ...columns])),
      message('D', Buffer.concat([int16(2), ...values])),
      message('C', Buffer.from('SELECT 1\0')),
      ready,
    ]),
  ]
}

function message(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}

function column(name: string, oid: number): Buffer {
  return Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(oid), int16(-1), int32(-1), int16(0)])
}

function value(text: string): Buffer {
  return Buffer.concat([int32(text.length), Buffer.from(text)])
}

function int32(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(number)
  return bytes
}

function int16(number: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(number)
  return bytes
}
