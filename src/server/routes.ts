import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import type { Health } from '../resolvers/health.ts'
import type { Authenticate } from './auth.ts'
import { createGraphiql } from './graphiql.ts'
import type { GraphqlRoute } from './graphql-route.ts'
import { guardGraphiql, guardMetrics } from './guards.ts'
import type { Routes } from './router.ts'
import { HttpError, sendJson } from './send.ts'
import { sendStartPage } from './start-page.ts'

/** The mails of development. */
export interface Mailbox {
  list(): readonly unknown[] | Promise<readonly unknown[]>
  clear(): void | Promise<void>
}

interface RoutesDeps {
  readonly schema: GraphQLSchema
  readonly development: boolean
  /** Null: this process serves no API. */
  readonly graphql: GraphqlRoute | null
  readonly authenticate: Authenticate
  readonly health: () => Promise<Health>
  readonly metrics: { readonly contentType: string; scrape(): Promise<string> }
  readonly metricsToken: string | null
  readonly mailbox: Mailbox | null
  /** What providers call. */
  readonly webhooks?: Routes | undefined
  /** Where files come in with a form. */
  readonly forms?: Routes | undefined
  /** Where bytes come in and go out under signed URLs. */
  readonly objects?: Routes | undefined
  readonly addressOf: (request: IncomingMessage) => string
}

/** The table of paths. */
export function createRoutes(deps: RoutesDeps): Routes {
  return {
    '/': { GET: (_, response) => sendStartPage(response) },
    ...(deps.graphql !== null && apiRoutes(deps, deps.graphql)),
    '/health': { GET: (_, response) => sendJson(response, 200, { status: 'alive' }) },
    '/ready': { GET: (_, response) => sendReadiness(response, deps.health) },
    '/metrics': { GET: (request, response) => sendMetrics(request, response, deps) },
    ...deps.webhooks,
    ...(deps.graphql !== null && deps.forms),
    ...(deps.graphql !== null && deps.objects),
    ...(deps.development && deps.mailbox !== null && { '/dev/mailbox': mailboxRoute(deps.mailbox) }),
  }
}

function apiRoutes({ schema, development, authenticate }: RoutesDeps, graphql: GraphqlRoute): Routes {
  const send = createGraphiql(schema)
  const graphiql = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!development) await guardGraphiql(request, authenticate)
    await send(request, response)
  }
  return {
    '/graphql': {
      POST: graphql.post,
      OPTIONS: graphql.preflight,
      GET(request, response) {
        if (request.headers.accept?.includes('text/html') === true) return graphiql(request, response)
        throw new HttpError(405, 'BAD_USER_INPUT', 'Operations are sent by POST; GET runs nothing.', {
          allow: 'POST, OPTIONS',
        })
      },
    },
    '/graphiql': { GET: graphiql },
  }
}

async function sendReadiness(response: ServerResponse, health: RoutesDeps['health']): Promise<void> {
  const { ready, reasons, warnings } = await health()
  sendJson(response, ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', reasons, warnings })
}

async function sendMetrics(request: IncomingMessage, response: ServerResponse, deps: RoutesDeps): Promise<void> {
  guardMetrics(request, { token: deps.metricsToken, development: deps.development, addressOf: deps.addressOf })
  const text = await deps.metrics.scrape()
  response.writeHead(200, { 'content-type': deps.metrics.contentType, 'cache-control': 'no-store' })
  response.end(text)
}

function mailboxRoute(mailbox: Mailbox): Routes[string] {
  return {
    GET: async (_, response) => sendJson(response, 200, await mailbox.list()),
    async DELETE(_, response) {
      await mailbox.clear()
      response.writeHead(204)
      response.end()
    },
  }
}
