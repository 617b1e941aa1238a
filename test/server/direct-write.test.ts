import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import type { Outcome } from '../../src/server/call.ts'
import { handleOf, writeAtOnce } from '../../src/server/direct-write.ts'
import { FrameWriter } from '../../src/server/result-frames.ts'
import { until } from '../support/until.ts'

const openSocket = { readyState: 1, OPEN: 1 } as WebSocket
let server: Server

beforeAll(async () => {
  server = createServer({ noDelay: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => void server.close())

/** Both ends of a connection; the client does not read until it is asked to. */
async function connected(): Promise<{ wire: Socket; client: Socket; read: () => () => string }> {
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => undefined)
  const [wire] = await accepted
  wire.on('error', () => undefined)
  const read = () => {
    const chunks: Buffer[] = []
    client.on('data', (chunk: Buffer) => void chunks.push(chunk))
    return () => Buffer.concat(chunks).toString()
  }
  return { wire, client, read }
}

const closing = (wire: Socket): Promise<unknown> => new Promise((resolve) => wire.once('close', resolve))

/** Writes until the system takes no more. */
function fill(wire: Socket): { said: string; rest: Promise<void> } {
  const handle = handleOf(wire)!
  const bytes = Buffer.alloc(50_000)
  let said = ''
  for (let i = 0; ; i += 1) {
    const text = `${i},`.padEnd(bytes.length, '.')
    bytes.write(text)
    said += text
    const taken = writeAtOnce(wire, handle, bytes)
    if (taken === true) continue
    if (taken === false) throw new Error('The handle refuses what it should queue.')
    return { said, rest: taken }
  }
}

test('what goes past the stream and what goes through it arrives in order, whatever has to wait', async () => {
  const { wire, client, read } = await connected()
  const { said, rest } = fill(wire)
  const handle = handleOf(wire)!
  expect(writeAtOnce(wire, handle, Buffer.from('refused'))).toBe(false)
  wire.write('through the stream,')
  wire.write('twice,')
  expect(writeAtOnce(wire, handle, Buffer.from('refused'))).toBe(false)
  const heard = read()
  await rest
  const whole = `${said}through the stream,twice,`
  await until(() => heard().length >= whole.length, 'the client has it all')
  await until(() => handle.writeQueueSize === 0, 'nothing waits')
  expect(writeAtOnce(wire, handle, Buffer.from('at once'))).toBe(true)
  await until(() => heard().endsWith('at once'), 'the client has that too')
  expect(heard()).toBe(`${whole}at once`)
  client.destroy()
})

test('what waits is over when the socket is closed, and nothing is written to a closed one', async () => {
  const { wire, client } = await connected()
  const { rest } = fill(wire)
  const handle = handleOf(wire)!
  const closed = closing(wire)
  wire.destroy()
  expect(writeAtOnce(wire, handle, Buffer.from('late'))).toBe(false)
  await rest
  await closed
  expect(writeAtOnce(wire, handle, Buffer.from('late'))).toBe(false)
  client.destroy()
})

test('a client that is gone while something waits for it ends the socket', async () => {
  const { wire, client } = await connected()
  // Only the write can tell.
  ;(wire as unknown as { _handle: { readStop(): void } })._handle.readStop()
  const { rest } = fill(wire)
  const closed = closing(wire)
  client.resetAndDestroy()
  await rest
  await closed
  expect(wire.destroyed).toBe(true)
})

test('a wire that is no socket has no handle', () => {
  expect(handleOf(new PassThrough())).toBeNull()
})

test.each([80, 90, 100])(
  'a frame that goes to many sockets has the id of each, also where it has to wait (%i)',
  async (times) => {
    const outcome: Outcome = { data: { n: 1 } }
    const readers = []
    for (let i = 0; i < 3; i += 1) {
      const ends = await connected()
      // Most of the frame, and its end says whose it is: wherever the system leaves off, what has to wait holds some of it.
      const id = `${'reader '.repeat(times)}${i}`
      const writer = new FrameWriter(openSocket, ends.wire, id, async () => void (await once(ends.wire, 'drain')))
      readers.push({ ...ends, writer, id })
    }
    const counts = readers.map(({ writer }) => {
      let count = 1
      while (writer.writeOne(outcome) === undefined) count += 1
      return count
    })
    // Through the stream.
    for (const { writer } of readers) void writer.writeOne(outcome)
    for (const [i, { read, id, client }] of readers.entries()) {
      const heard = read()
      const frame = `{"id":"${id}","type":"next","payload":${JSON.stringify(outcome)}}`
      const whole = (4 + frame.length) * (counts[i]! + 1)
      await until(() => client.bytesRead >= whole, `all has come to reader ${i}`)
      // Each has a header, which need not be text.
      expect(heard().split(frame).length - 1).toBe(counts[i]! + 1)
      client.destroy()
    }
  },
)
