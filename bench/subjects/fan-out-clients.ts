import { randomBytes, randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'

// Many WebSocket clients that do next to nothing, so that they are not what is measured: no parser, only a search for what stands once in
// the message of each event. They live in a process of their own.

interface Open {
  readonly subscribers: number
  readonly port: number
  readonly authorization: string
  readonly query: string
  readonly marker: string
}

const atOnce = 50
/** Servers end a socket that answers no ping for 12 to 24 s; who sends one unasked needs no parser. */
const pongEveryMs = 10_000
const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0])
/** All sockets read into the same: a buffer of its own for each read costs more than what is done with it. */
const readInto = Buffer.alloc(64 * 1024)
let expected = 0
let counts = new Uint32Array()
let times: number[] = []
let complete = 0

process.on(
  'message',
  (message: Open | { readonly expect: number } | { readonly state: true } | { readonly late: true }) => {
    if ('late' in message) {
      const missing = counts.reduce((sum, count) => sum + (count < expected ? 1 : 0), 0)
      throw new Error(
        `${missing} of ${counts.length} clients have less than ${expected} events: ${counts.slice(0, 20).join(' ')} ...`,
      )
    }
    if ('state' in message)
      return void process.send!([Math.min(...counts), counts.reduce((sum, count) => sum + count, 0)])
    if (!('expect' in message)) return void openAll(message).then(() => process.send!([]))
    const odd = counts.findIndex((count) => count !== expected)
    if (expected > 0 && odd >= 0) throw new Error(`Client ${odd} got ${counts[odd]} events, not ${expected}.`)
    expected = message.expect
    counts.fill(0)
    times = []
    complete = 0
    process.send!([])
  },
)

async function openAll(options: Open): Promise<void> {
  counts = new Uint32Array(options.subscribers)
  let next = 0
  const openSome = async (): Promise<void> => {
    while (next < options.subscribers) await open(options, next++)
  }
  await Promise.all(Array.from({ length: atOnce }, openSome))
}

/** Opens one, and resolves once the server has acknowledged it and it has subscribed. */
function open({ port, authorization, query, marker }: Open, index: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let hear: (data: Buffer) => void
  const socket = connect({
    port,
    host: '127.0.0.1',
    noDelay: true,
    onread: { buffer: readInto, callback: (bytes) => (hear(readInto.subarray(0, bytes)), true) },
  })
  socket.on('error', reject)
  socket.on('close', () => {
    throw new Error(`The server closed the socket of client ${index}.`)
  })
  socket.write(
    `GET /graphql HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-version: 13\r\n` +
      `sec-websocket-key: ${randomBytes(16).toString('base64')}\r\nsec-websocket-protocol: graphql-transport-ws\r\n\r\n`,
  )
  let said = ''
  hear = (data) => {
    said += data.toString('latin1')
    if (said.includes('HTTP/1.1 101') && said.includes('\r\n\r\n')) {
      said = ''
      send(socket, { type: 'connection_init', payload: { authorization } })
    } else if (said.includes('connection_ack')) {
      hear = counterOf(Buffer.from(marker), index)
      send(socket, { id: randomUUID(), type: 'subscribe', payload: { query } })
      setInterval(() => socket.write(pong), pongEveryMs)
      resolve()
    } else if (said.includes('HTTP/1.1 ') && !said.includes('HTTP/1.1 101')) reject(new Error(said))
  }
  return promise
}

function counterOf(marker: Buffer, index: number): (data: Buffer) => void {
  /** The end of what came before may hold the beginning of a marker. */
  let rest: Buffer = Buffer.alloc(0)
  return (data) => {
    const text = rest.length === 0 ? data : Buffer.concat([rest, data])
    let from = 0
    const before = counts[index]!
    for (let at = text.indexOf(marker, 0); at >= 0; at = text.indexOf(marker, from)) {
      counts[index]! += 1
      from = at + marker.length
    }
    // Copied: the next read of any socket goes into the same buffer.
    rest = Buffer.from(text.subarray(Math.max(from, text.length - marker.length + 1)))
    if (before < expected && counts[index]! >= expected) {
      times.push(Number(process.hrtime.bigint() / 1_000n) / 1_000)
      complete += 1
      if (complete === counts.length) process.send!(times)
    }
  }
}

/** One masked text frame; a mask of zeros is one, too. */
function send(socket: Socket, message: object): void {
  const text = Buffer.from(JSON.stringify(message))
  const header = text.length < 126 ? [0x81, 0x80 | text.length] : [0x81, 0xfe, text.length >> 8, text.length & 255]
  socket.write(Buffer.concat([Buffer.from([...header, 0, 0, 0, 0]), text]))
}
