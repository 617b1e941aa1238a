import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { ScanReply } from '../../../jobs/scan-reply.ts'
import { parseScanReply } from '../../../jobs/scan-reply.ts'

/** The ClamAV daemon; each call has a connection of its own, so that scans share nothing. */
export interface Clamd {
  /** Streams the bytes and answers what clamd says; throws ScannerError when it cannot be asked, or what the source or the signal throws. */
  scan(source: AsyncIterable<Buffer>, signal: AbortSignal): Promise<ScanReply>
  /** Program and signature database, e.g. `ClamAV 1.4.3/27500/Mon Nov 30 08:00:00 2026`; null: it does not say. */
  version(signal: AbortSignal): Promise<string | null>
}

/** The scanner cannot be reached, or the connection broke before it answered: nothing is known of the file. */
export class ScannerError extends Error {
  override readonly name = 'ScannerError'
}

const connectWithinMs = 10_000
/** clamd takes chunks up to StreamMaxLength; larger ones save nothing. */
const largestChunk = 1024 * 1024
const longestReply = 4_096

/** `tcp://host:port` or `unix:///path`. */
export function createClamd(url: string): Clamd {
  const { protocol, hostname, port, pathname } = new URL(url)
  const address =
    protocol === 'unix:'
      ? { path: decodeURIComponent(pathname) }
      : { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port) }

  const open = async (signal: AbortSignal): Promise<Socket> => {
    const socket = connect(address)
    socket.setNoDelay(true)
    try {
      await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(connectWithinMs)]) })
      return socket
    } catch (error) {
      socket.on('error', () => undefined)
      socket.destroy()
      signal.throwIfAborted()
      throw faultOf(error)
    }
  }

  /** Sends with `send` and reads the answer up to its end mark; the connection ends with it. */
  const ask = async (signal: AbortSignal, send: (socket: Socket) => Promise<void>): Promise<string> => {
    const socket = await open(signal)
    const stop = (): void => void socket.destroy(signal.reason as Error)
    signal.addEventListener('abort', stop, { once: true })
    const reply = readReply(socket)
    try {
      signal.throwIfAborted()
      // An answer before the end, e.g. that there are too many bytes, makes the rest needless.
      const sending = send(socket)
      sending.catch(() => undefined)
      return await Promise.race([reply, sending.then(() => reply)])
    } catch (error) {
      signal.throwIfAborted()
      throw error
    } finally {
      reply.catch(() => undefined)
      signal.removeEventListener('abort', stop)
      socket.destroy()
    }
  }

  return {
    scan: async (source, signal) => parseScanReply(await ask(signal, (socket) => sendStream(socket, source))),
    async version(signal) {
      const reply = await ask(signal, async (socket) => void socket.write('zVERSION\0'))
      return reply.startsWith('ClamAV') ? reply : null
    },
  }
}

/** INSTREAM: chunks behind their lengths, and an empty one at the end. */
async function sendStream(socket: Socket, source: AsyncIterable<Buffer>): Promise<void> {
  socket.write('zINSTREAM\0')
  for await (const bytes of source) {
    for (let from = 0; from < bytes.length; from += largestChunk) {
      const chunk = bytes.subarray(from, from + largestChunk)
      if (socket.destroyed) return
      socket.write(length(chunk.length))
      if (!socket.write(chunk)) await drained(socket)
    }
  }
  socket.write(length(0))
}

function length(bytes: number): Buffer {
  const header = Buffer.alloc(4)
  header.writeUInt32BE(bytes)
  return header
}

async function drained(socket: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.once('drain', resolve)
  socket.once('close', resolve)
  await promise
  socket.off('drain', resolve)
  socket.off('close', resolve)
}

async function readReply(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (part: string) => {
    text += part
    const end = text.search(/[\0\n]/)
    if (end >= 0) resolve(text.slice(0, end))
    else if (text.length > longestReply)
      reject(new ScannerError('The scanner answered with something else than a reply.'))
  })
  socket.on('error', (error) => reject(faultOf(error)))
  // An answer without its end mark may be half of one.
  socket.on('close', () => reject(new ScannerError('The scanner closed the connection without an answer.')))
  return promise
}

function faultOf(error: unknown): ScannerError {
  const { code, message } = error as NodeJS.ErrnoException
  const why = code === 'ABORT_ERR' ? `no connection within ${connectWithinMs / 1_000} s` : (code ?? message)
  return new ScannerError(`The scanner cannot be reached (${why}). Start it, or correct CLAMD_URL.`, { cause: error })
}
