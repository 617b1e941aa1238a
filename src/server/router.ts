import type { IncomingMessage, ServerResponse } from 'node:http'
import { statusOfCode, type MaskError } from './mask-errors.ts'
import { requestIdOf } from './request-facts.ts'
import { HttpError, sendError } from './send.ts'

type Method = 'GET' | 'POST' | 'DELETE' | 'OPTIONS'
type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

/** What is served, by path and method. */
export type Routes = Readonly<Record<string, Readonly<Partial<Record<Method, Handler>>>>>

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
    const run = async (): Promise<void> => findHandler(routes, request)(request, response)
    run().catch((error: unknown) => sendError(response, asHttpError(error, requestId, maskError)))
  }
}

function findHandler(routes: Routes, { url = '/', method = 'GET' }: IncomingMessage): Handler {
  const path = url.split('?', 1)[0]!
  const methods = Object.hasOwn(routes, path) ? routes[path]! : undefined
  if (methods === undefined) {
    const known = Object.keys(routes).join(', ')
    throw new HttpError(404, 'NOT_FOUND', `There is nothing at this path. What there is: ${known}.`)
  }
  // Node leaves the body of an answer to HEAD out by itself.
  const handler = methods[(method === 'HEAD' ? 'GET' : method) as Method]
  if (handler !== undefined) return handler
  const allow = Object.keys(methods).join(', ')
  throw new HttpError(405, 'BAD_USER_INPUT', `This path takes ${allow} only.`, { allow })
}

function asHttpError(error: unknown, requestId: string, maskError: MaskError): HttpError {
  if (error instanceof HttpError) return error
  const { message, extensions } = maskError(error, { requestId, mutates: false })
  const code = extensions['code'] as keyof typeof statusOfCode
  return new HttpError(statusOfCode[code], code, message)
}
