import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Authenticate } from './auth.ts'
import { budgetHeaders } from './charge.ts'
import type { Origin } from './origins.ts'
import { readBody } from './read-body.ts'
import { requestIdOf, traceparentOf } from './request-facts.ts'
import type { RunDirectly } from './run-directly.ts'
import { sendEvents } from './send-events.ts'
import { HttpError } from './send.ts'
import { watchCaller } from './watch-caller.ts'
import type { HttpCall, Yoga } from './yoga.ts'

interface GraphqlRouteDeps {
  readonly yoga: Yoga
  readonly runDirectly: RunDirectly
  readonly authenticate: Authenticate
  readonly originOf: (request: IncomingMessage) => Origin
}

/** GraphQL over HTTP and over server-sent events. */
export interface GraphqlRoute {
  post(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** What a browser asks before it calls from another origin. */
  preflight(request: IncomingMessage, response: ServerResponse): void
  readonly streams: ReadonlySet<ServerResponse>
}

const mostBodyBytes = 1024 * 1024

export function createGraphqlRoute({ yoga, runDirectly, authenticate, originOf }: GraphqlRouteDeps): GraphqlRoute {
  const streams = new Set<ServerResponse>()

  const refuseForeign = (request: IncomingMessage, response: ServerResponse): void => {
    const origin = originOf(request)
    response.setHeader('vary', 'origin')
    if (origin.kind === 'foreign') throw foreignOrigin()
    if (origin.kind === 'allowed') allow(response, origin.origin)
  }

  const sendStream = async (response: ServerResponse, call: HttpCall): Promise<void> => {
    const unwatch =
      call.caller === null
        ? undefined
        : watchCaller({
            authenticate,
            authorization: call.authorization!,
            caller: call.caller,
            onLoss: () => response.destroy(),
          })
    streams.add(response)
    try {
      await sendEvents(response, call.events!)
    } finally {
      streams.delete(response)
      unwatch?.()
    }
  }

  return {
    streams,
    async post(request, response) {
      refuseForeign(request, response)
      if (mediaTypeOf(request) !== 'application/json') throw notJson()
      const call: HttpCall = {
        requestId: String(response.getHeader('x-request-id') ?? requestIdOf(request)),
        traceparent: traceparentOf(request),
        authorization: request.headers.authorization ?? null,
        accepts: acceptsOf(request),
        caller: null,
        mutates: false,
        cost: 0,
        budget: null,
        events: null,
      }
      const body = await readBody(request, mostBodyBytes)
      const direct = call.accepts === 'json' ? await runDirectly(body, call) : null
      if (direct !== null) {
        sendAnswer(response, call, { ...direct, headers: { ...direct.headers, 'content-type': answerTypeOf(request) } })
        return
      }
      const answer = await yoga.fetch(asFetchRequest(request, body), { call })
      if (call.events !== null) {
        for (const [name, value] of Object.entries(budgetHeaders(call))) response.setHeader(name, value)
        return sendStream(response, call)
      }
      const headers = Object.fromEntries(answer.headers)
      sendAnswer(response, call, { status: answer.status, headers, text: await answer.text() })
    },
    preflight(request, response) {
      refuseForeign(request, response)
      response.setHeader('access-control-allow-methods', 'POST')
      response.setHeader('access-control-allow-headers', 'authorization, content-type, traceparent, x-request-id')
      response.setHeader('access-control-max-age', '600')
      response.writeHead(204)
      response.end()
    },
  }
}

const foreignOrigin = (): HttpError =>
  new HttpError(
    403,
    'FORBIDDEN',
    'Pages of this origin may not call here. An operator lists it in STELLWERK_ALLOWED_ORIGINS.',
  )

const notJson = (): HttpError =>
  new HttpError(415, 'BAD_USER_INPUT', 'Send the operation as JSON, with `content-type: application/json`.', {
    accept: 'application/json',
  })

/** An origin from the list, as it stands there. */
function allow(response: ServerResponse, origin: string): void {
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-expose-headers', 'x-request-id, retry-after, ratelimit, ratelimit-policy')
}

function mediaTypeOf({ headers }: IncomingMessage): string | undefined {
  return headers['content-type']?.split(';', 1)[0]!.trim().toLowerCase()
}

function acceptsOf({ headers }: IncomingMessage): HttpCall['accepts'] {
  const accept = headers.accept ?? '*/*'
  if (!accept.includes('text/event-stream')) return 'json'
  return /json|\*\/\*/.test(accept) ? 'events or json' : 'events'
}

/** Whatever else a client would like, JSON is what there is. */
function answerTypeOf({ headers }: IncomingMessage): string {
  const isNewer = headers.accept?.includes('application/graphql-response+json') === true
  return `application/${isNewer ? 'graphql-response+json' : 'json'}; charset=utf-8`
}

function asFetchRequest(request: IncomingMessage, body: string): Request {
  const headers = { 'content-type': 'application/json', accept: answerTypeOf(request) }
  return new Request('http://stellwerk/graphql', { method: 'POST', headers, body })
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

function sendAnswer(response: ServerResponse, call: HttpCall, { status, headers, text }: Answer): void {
  response.writeHead(status, {
    ...headers,
    ...budgetHeaders(call),
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
