import { createServer, type Server } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { StartError } from '../jobs/errors.ts'
import type { Health } from '../resolvers/health.ts'
import type { createApi } from './api.ts'
import { describeUnforeseen } from './describe-unforeseen.ts'
import { createMaskError } from './mask-errors.ts'
import { createClientAddress } from './request-facts.ts'
import { refuseBroken } from './refuse-broken.ts'
import { createRouter, type Routes } from './router.ts'
import { createRoutes, type Mailbox } from './routes.ts'

export interface HttpServerDeps {
  readonly config: Pick<Config, 'env' | 'http' | 'trustProxy' | 'metricsToken'>
  /** Null: this process serves none, and has not loaded it. */
  readonly api: ReturnType<typeof createApi> | null
  readonly health: () => Promise<Health>
  readonly metrics: { readonly contentType: string; scrape(): Promise<string> }
  /** Null: there is none. Never served in production. */
  readonly mailbox: Mailbox | null
  /** Paths that providers call. */
  readonly webhooks?: Routes
  readonly log: Logger
  /** What still runs so long after stop() was called is cut off. */
  readonly stopWithinMs?: number
}

export interface HttpServer {
  /** Listens; throws StartError where the port or the address cannot be had. */
  start(): Promise<{ port: number; url: string }>
  /** Takes no more, lets running requests finish, ends streams one after the other. May be called twice, and without a start. */
  stop(): Promise<void>
  /** Streams open now, over sockets and over HTTP. */
  subscriptions(): number
}

const longestSpreadMs = 2_000

/** Everything that listens: one port for GraphQL in its three forms, for pages, health and metrics. */
export function createHttpServer(deps: HttpServerDeps): HttpServer {
  const { config, log, stopWithinMs = 5_000 } = deps
  const development = config.env === 'development'
  const maskError = createMaskError({
    suggestions: development,
    onUnforeseen: (error, requestId) =>
      log.error({ requestId, ...describeUnforeseen(error) }, 'unforeseen error in a request'),
  })
  const addressOf = createClientAddress(config.trustProxy)
  const api = deps.api?.({ maskError, addressOf }) ?? null
  const routes = createRoutes({
    ...deps,
    development,
    api: api?.routes ?? {},
    metricsToken: config.metricsToken,
    addressOf,
  })
  const route = createRouter({ routes, maskError })

  let stopping: Promise<void> | undefined
  const server = createServer(
    // How long a body may take, the router says for each path.
    { requestTimeout: 0, headersTimeout: 10_000, keepAliveTimeout: 65_000 },
    (request, response) => {
      response.on('close', () => {
        if (stopping !== undefined) setImmediate(() => server.closeIdleConnections())
      })
      route(request, response)
    },
  )
  server.on('clientError', refuseBroken)
  server.on('upgrade', (request, socket, head) => {
    if (api !== null) api.upgrade(request, socket, head)
    else socket.destroy()
  })

  const stop = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    const cutOff = setTimeout(() => server.closeAllConnections(), stopWithinMs)
    const spreadMs = Math.min(stopWithinMs / 2, longestSpreadMs)
    await api?.endStreams(spreadMs)
    await closed
    clearTimeout(cutOff)
    await api?.dispose()
  }

  return {
    async start() {
      const { host, port } = config.http
      await listen(server, host, port)
      server.on('error', (error) => log.error({ err: error }, 'the HTTP server met an error'))
      const address = server.address()
      const taken = typeof address === 'object' && address !== null ? address.port : port
      return { port: taken, url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}` }
    },
    stop: () => (stopping ??= stop()),
    subscriptions: () => api?.subscriptions() ?? 0,
  }
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const refuse = (error: NodeJS.ErrnoException): void => reject(cannotListen(error, host, port))
  server.once('error', refuse)
  server.listen(port, host, resolve)
  await promise
  server.off('error', refuse)
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): StartError {
  switch (error.code) {
    case 'EADDRINUSE':
      return new StartError(
        `Port ${port} at ${host} is taken by another process. End that one, or choose another port with PORT=<number>; PORT=0 takes any free one.`,
        { cause: error },
      )
    case 'EACCES':
      return new StartError(`Port ${port} may not be opened by this user. Choose one above 1023 with PORT=<number>.`, {
        cause: error,
      })
    default:
      return new StartError(
        `HTTP cannot listen at ${host}, port ${port} (${error.code ?? error.message}). Correct HOST or PORT.`,
        { cause: error },
      )
  }
}
