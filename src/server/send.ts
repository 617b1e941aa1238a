import type { ServerResponse } from 'node:http'
import type { statusOfCode } from './mask-errors.ts'

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  })
  response.end(text)
}

/** Answers with a page that may load nothing from anywhere, or what `policy` says. */
export function sendPage(
  response: ServerResponse,
  status: number,
  html: string | Buffer,
  policy = "default-src 'none'; style-src 'unsafe-inline'",
): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(html),
    'content-security-policy': `${policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'cache-control': 'no-store',
  })
  response.end(html)
}

/** A request that went wrong before there was an operation; the answer has the shape of GraphQL's, whatever the path. */
export class HttpError extends Error {
  override readonly name = 'HttpError'
  readonly status: number
  readonly code: keyof typeof statusOfCode
  readonly headers: Readonly<Record<string, string>>
  constructor(
    status: number,
    code: keyof typeof statusOfCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** Answers with one error, as a sentence and a code. */
export function sendError(response: ServerResponse, { status, code, message, headers }: HttpError): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  const requestId = response.getHeader('x-request-id')
  sendJson(response, status, { errors: [{ message, extensions: { code, requestId } }] })
}
