import type { IncomingMessage, ServerResponse } from 'node:http'
import { statusOfCode, type MaskError } from './mask-errors.ts'
import { requestIdOf } from './request-facts.ts'
import { HttpError, sendError } from './send.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS'
type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

type Route = Readonly<Partial<Record<Method, Handler>>> & {
  /** A body that takes longer is cut off. Default: half a minute. */
  readonly bodyWithinMs?: number
}

/** What is served, by path and method. A path that ends with `/` serves everything below it. */
export type Routes = Readonly<Record<string, Route>>

const bodyWithinMs = 30_000

interface RouterDeps {
  readonly routes: Routes
  readonly maskError: MaskError
}

/** Finds the handler of a request and catches what it throws: every request gets an answer, and every answer an id. */
export function createRouter({
  routes,
  maskError,
}: RouterDeps): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    const requestId = requestIdOf(request)
    response.setHeader('x-request-id', requestId)
    response.setHeader('x-content-type-options', 'nosniff')
    response.setHeader('referrer-policy', 'no-referrer')
    const fail = (error: unknown): void => sendError(response, asHttpError(error, requestId, maskError))
    try {
      findHandler(routes, request, response)(request, response)?.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
}

function findHandler(routes: Routes, request: IncomingMessage, response: ServerResponse): Handler {
  const { url = '/', method = 'GET' } = request
  const route = routeAt(routes, url.split('?', 1)[0]!)
  if (hasBody(request)) process.nextTick(limitBody, request, response, route?.bodyWithinMs ?? bodyWithinMs)
  if (route === undefined) {
    const known = Object.keys(routes).join(', ')
    throw new HttpError(404, 'NOT_FOUND', `There is nothing at this path. What there is: ${known}.`)
  }
  // Node leaves the body of an answer to HEAD out by itself.
  const handler = route[(method === 'HEAD' ? 'GET' : method) as Method]
  if (handler !== undefined) return handler
  const { bodyWithinMs: _, ...methods } = route
  const allow = Object.keys(methods).join(', ')
  throw new HttpError(405, 'BAD_USER_INPUT', `This path takes ${allow} only.`, { allow })
}

function routeAt(routes: Routes, path: string): Route | undefined {
  if (Object.hasOwn(routes, path)) return routes[path]
  const above = path.slice(0, path.indexOf('/', 1) + 1)
  return above.length > 1 && Object.hasOwn(routes, above) ? routes[above] : undefined
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return length !== '0' || encoding !== undefined
}

/**
 * The server's own limit is one for all requests; files need longer than the rest. Holds for bodies that nobody reads, too. Asked for in
 * the next tick: a small body came with its head and has been read by then, and a timer for it would cost 3 us.
 */
function limitBody(request: IncomingMessage, response: ServerResponse, withinMs: number): void {
  if (request.complete || request.destroyed) return
  const late = setTimeout(() => {
    if (request.complete) return
    const message = `The body was not here within ${withinMs / 1_000} s. Send it faster, or less at once.`
    sendError(response, new HttpError(408, 'BAD_USER_INPUT', message, { connection: 'close' }))
    request.destroy()
  }, withinMs)
  request.once('close', () => clearTimeout(late))
}

function asHttpError(error: unknown, requestId: string, maskError: MaskError): HttpError {
  if (error instanceof HttpError) return error
  const { message, extensions } = maskError(error, { requestId, mutates: false })
  const code = extensions['code'] as keyof typeof statusOfCode
  return new HttpError(statusOfCode[code], code, message)
}
