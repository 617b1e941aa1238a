import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { handleProtocols, type Server } from 'graphql-ws'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import type { Authenticate } from './auth.ts'
import { endSocket } from './end-socket.ts'
import type { MaskError } from './mask-errors.ts'
import type { Origin } from './origins.ts'
import { requestIdOf } from './request-facts.ts'
import { FrameWriter } from './result-frames.ts'
import type { ResultWriter } from './shared-results.ts'
import { createPlaces, socketLimits, type SocketLimits } from './socket-places.ts'
import { createSocketProtocol, type SocketExtra } from './socket-protocol.ts'
import { closeCodes, createSocketSession } from './socket-session.ts'
import type { Yoga } from './yoga.ts'

export type { SocketLimits }

interface SocketServerDeps {
  readonly yoga: Yoga
  readonly authenticate: Authenticate
  readonly maskError: MaskError
  readonly originOf: (request: IncomingMessage) => Origin
  readonly addressOf: (request: IncomingMessage) => string
  readonly limits?: Partial<SocketLimits> | undefined
}

/** GraphQL over WebSocket (graphql-transport-ws). */
export interface SocketServer {
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Closes all sockets, spread over this time, with a code after which clients come back. */
  stop(spreadMs: number): Promise<void>
  subscriptions(): number
}

const largestFrame = 64 * 1024
const keepAliveMs = 12_000
const closeWithinMs = 1_000

export function createSocketServer(deps: SocketServerDeps): SocketServer {
  const { authenticate, originOf, addressOf } = deps
  const limits = { ...socketLimits, ...deps.limits }
  const places = createPlaces()
  const protocol = createSocketProtocol({ ...deps, limits })
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: largestFrame,
    perMessageDeflate: false,
    handleProtocols,
  })
  server.on('headers', (headers, request) => headers.push(`x-request-id: ${requestIdOf(request)}`))
  const open = new Set<SocketExtra>()
  let stopping = false

  const opened = (socket: WebSocket, wire: Duplex, address: string): void => {
    // A close reason may have 123 bytes.
    const close = (code: number, reason: string): void =>
      socket.close(code, Buffer.from(reason).subarray(0, 123).toString())
    const session = createSocketSession({ authenticate, places, mostPerUser: limits.perUser, address, close })
    const extra: SocketExtra = {
      socket,
      session,
      subscriptions: new Set(),
      writerOf: createWriterOf(socket, wire),
    }
    open.add(extra)
    // Without a listener one frame that is too large ends the process; the socket closes by itself.
    socket.on('error', () => undefined)
    const endKeepAlive = keepAlive(socket)
    const closed = speak(protocol, extra)
    socket.once('close', (code, reason) => {
      endKeepAlive()
      session.end()
      open.delete(extra)
      void closed(code, String(reason)).catch(() => undefined)
    })
  }

  return {
    upgrade(request, socket, head) {
      socket.on('error', () => undefined)
      const address = `address ${addressOf(request)}`
      const refuse = (status: string, message: string): void => refuseUpgrade(request, socket, status, message)
      if (request.url?.split('?', 1)[0] !== '/graphql')
        return refuse('404 Not Found', 'WebSockets are served at /graphql.')
      if (originOf(request).kind === 'foreign') {
        return refuse(
          '403 Forbidden',
          'Pages of this origin may not call here. An operator lists it in STELLWERK_ALLOWED_ORIGINS.',
        )
      }
      if (stopping || open.size >= limits.inAll)
        return refuse('503 Service Unavailable', 'This instance takes no more sockets now. Try again shortly.')
      if (!places.take(address, limits.perAddress)) {
        return refuse(
          '429 Too Many Requests',
          `There are ${limits.perAddress} sockets of this address that have not signed in. Close some.`,
        )
      }
      // A handshake that ws refuses never gets to be a socket.
      const giveBack = (): void => places.giveBack(address)
      socket.once('close', giveBack)
      server.handleUpgrade(request, socket, head, (webSocket) => {
        socket.off('close', giveBack)
        opened(webSocket, socket, address)
      })
    },
    async stop(spreadMs) {
      stopping = true
      const sockets = [...open].map(({ socket }) => socket)
      await Promise.all(sockets.map((socket, index) => closeAfter(socket, (spreadMs * index) / sockets.length)))
    },
    subscriptions: () => [...open].reduce((sum, { subscriptions }) => sum + subscriptions.size, 0),
  }
}

/** Binds the protocol to a socket. */
function speak(protocol: Server<SocketExtra>, extra: SocketExtra): (code: number, reason: string) => Promise<void> {
  const { socket, session } = extra
  const send = async (data: string): Promise<void> => {
    if (socket.readyState !== socket.OPEN) return
    // Resolves when the data has left: a slow client is not pulled.
    await new Promise<void>((resolve) => socket.send(data, () => resolve()))
  }
  return protocol.opened(
    {
      protocol: socket.protocol,
      send,
      close: (code, reason) => socket.close(code, reason),
      onMessage(hear) {
        socket.on('message', (data) => {
          hear(textOf(data)).catch(() => socket.close(closeCodes.broken, 'The message could not be worked on.'))
        })
      },
      /** `ping {authorization}` brings a new token of the same principal; the answer says how long it lasts. */
      async onPing(payload) {
        const authorization = payload?.['authorization']
        if (typeof authorization !== 'string')
          return send(JSON.stringify({ type: 'pong', ...(payload && { payload }) }))
        if (!(await session.identify(authorization))) return
        await send(JSON.stringify({ type: 'pong', payload: { expiresAt: session.caller()?.expiresAt ?? null } }))
      },
    },
    extra,
  )
}

/** Makes the writers of a socket's subscriptions. */
function createWriterOf(socket: WebSocket, wire: Duplex): (id: string) => ResultWriter {
  /** One wait for all of them. */
  let room: Promise<void> | undefined
  const untilRoom = (): Promise<void> => (room ??= drained(wire).finally(() => (room = undefined)))
  return (id) => new FrameWriter(socket, wire, id, untilRoom)
}

function drained(wire: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      wire.off('drain', go)
      wire.off('close', go)
      resolve()
    }
    wire.once('drain', go)
    wire.once('close', go)
  })
}

/** Pings while the socket is open and ends it when no answer came until the next ping. */
function keepAlive(socket: WebSocket): () => void {
  let answered = true
  socket.on('pong', () => (answered = true))
  const timer = setInterval(() => {
    if (!answered) return socket.terminate()
    answered = false
    socket.ping()
  }, keepAliveMs)
  return () => clearInterval(timer)
}

async function closeAfter(socket: WebSocket, waitMs: number): Promise<void> {
  await delay(waitMs)
  if (socket.readyState === socket.CLOSED) return
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.close(closeCodes.restart, 'The server restarts. Come back with your cursor.')
  const cutOff = setTimeout(() => socket.terminate(), closeWithinMs)
  await closed
  clearTimeout(cutOff)
}

function refuseUpgrade(request: IncomingMessage, socket: Duplex, status: string, message: string): void {
  const requestId = requestIdOf(request)
  const body = JSON.stringify({ errors: [{ message, extensions: { requestId } }] })
  const head = [
    `HTTP/1.1 ${status}`,
    'connection: close',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
  ]
  endSocket(socket, `${head.join('\r\n')}\r\n\r\n${body}`)
}

/** A frame as text; ws hands large ones over in pieces. */
function textOf(data: RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)).toString()
}
