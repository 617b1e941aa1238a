import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { endSocket } from './end-socket.ts'

/** Answers what never became a request: in JSON as everywhere, where the caller still listens. */
export function refuseBroken(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const { status, message } = whatIsWrong(error.code)
  const requestId = randomUUID()
  const body = JSON.stringify({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT', requestId } }] })
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
  ]
  endSocket(socket, `${head.join('\r\n')}\r\n\r\n${body}`)
}

function whatIsWrong(code: string | undefined): { readonly status: number; readonly message: string } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: 431,
        message: 'The headers are larger than 16 KiB. Send fewer or shorter ones, such as a shorter token.',
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, message: 'The request did not come whole in time. Send it again.' }
    default:
      return { status: 400, message: 'That is no HTTP request.' }
  }
}
