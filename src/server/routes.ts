import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Health } from '../resolvers/health.ts'
import { guardMetrics } from './guards.ts'
import type { Routes } from './router.ts'
import { sendJson } from './send.ts'
import { sendStartPage } from './start-page.ts'

/** The mails of development. */
export interface Mailbox {
  list(): readonly unknown[] | Promise<readonly unknown[]>
  clear(): void | Promise<void>
}

interface RoutesDeps {
  readonly development: boolean
  /** What callers of the API reach; empty where there is none. */
  readonly api: Routes
  readonly health: () => Promise<Health>
  readonly metrics: { readonly contentType: string; scrape(): Promise<string> }
  readonly metricsToken: string | null
  readonly mailbox: Mailbox | null
  /** What providers call. */
  readonly webhooks?: Routes | undefined
  readonly addressOf: (request: IncomingMessage) => string
}

/** The table of paths. */
export function createRoutes(deps: RoutesDeps): Routes {
  return {
    '/': { GET: (_, response) => sendStartPage(response) },
    ...deps.api,
    '/health': { GET: (_, response) => sendJson(response, 200, { status: 'alive' }) },
    '/ready': { GET: (_, response) => sendReadiness(response, deps.health) },
    '/metrics': { GET: (request, response) => sendMetrics(request, response, deps) },
    ...deps.webhooks,
    ...(deps.development && deps.mailbox !== null && { '/dev/mailbox': mailboxRoute(deps.mailbox) }),
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
