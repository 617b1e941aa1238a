import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { GraphQLSchema } from 'graphql'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createAdmit } from './admit.ts'
import type { Authenticate } from './auth.ts'
import { createBeginOperation } from './begin-operation.ts'
import { createBudgets } from './budgets.ts'
import type { Call } from './call.ts'
import { createCharge } from './charge.ts'
import { createGraphiql } from './graphiql.ts'
import { createGraphqlRoute, type GraphqlRoute } from './graphql-route.ts'
import { guardGraphiql } from './guards.ts'
import type { MaskError } from './mask-errors.ts'
import { createOriginOf } from './origins.ts'
import type { Routes } from './router.ts'
import { createRunDirectly } from './run-directly.ts'
import { HttpError } from './send.ts'
import { createSocketServer, type SocketLimits } from './websocket.ts'
import { createYogaServer } from './yoga.ts'

export interface ApiDeps {
  readonly config: Pick<Config, 'env' | 'allowedOrigins' | 'serviceBudget'>
  readonly schema: GraphQLSchema
  /** The context of one operation. */
  readonly contextFor: (call: Call) => object
  readonly authenticate: Authenticate
  /** Where files come in with a form. */
  readonly forms?: Routes
  /** Where bytes come in and go out under signed URLs. */
  readonly objects?: Routes
  readonly log: Logger
  readonly socketLimits?: Partial<SocketLimits>
}

/** What every path of the server has in common. */
interface Edge {
  readonly maskError: MaskError
  readonly addressOf: (request: IncomingMessage) => string
}

/** What callers of the API reach. It is loaded apart: GraphQL is a third of the memory of a process that serves none. */
export interface Api {
  readonly routes: Routes
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void
  /** Ends streams and sockets, spread over this time. */
  endStreams(spreadMs: number): Promise<void>
  dispose(): Promise<void>
  /** Streams open now, over sockets and over HTTP. */
  subscriptions(): number
}

export function createApi(deps: ApiDeps): (edge: Edge) => Api {
  return ({ maskError, addressOf }) => {
    const { config, authenticate, log } = deps
    const charge = createCharge(createBudgets({ serviceBudget: config.serviceBudget }))
    const begin = createBeginOperation(charge, (operation) => log.debug(operation, 'operation'))
    const engine = { ...deps, admit: createAdmit(), begin, maskError }
    const yoga = createYogaServer(engine)
    const originOf = createOriginOf(config.allowedOrigins)
    const graphql = createGraphqlRoute({
      yoga,
      runDirectly: createRunDirectly(engine),
      authenticate,
      originOf,
    })
    const limits = deps.socketLimits
    const sockets = createSocketServer({ yoga, authenticate, maskError, originOf, addressOf, limits })
    return {
      routes: { ...graphqlRoutes(deps, graphql), ...deps.forms, ...deps.objects },
      upgrade: sockets.upgrade,
      async endStreams(spreadMs) {
        await Promise.all([sockets.stop(spreadMs), destroyOneByOne([...graphql.streams], spreadMs)])
      },
      dispose: async () => yoga.dispose(),
      subscriptions: () => sockets.subscriptions() + graphql.streams.size,
    }
  }
}

function graphqlRoutes({ config, schema, authenticate }: ApiDeps, graphql: GraphqlRoute): Routes {
  const send = createGraphiql(schema)
  const graphiql = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (config.env !== 'development') await guardGraphiql(request, authenticate)
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

/** Not all at once: those who come back at once would all come at once to the next instance. */
async function destroyOneByOne(streams: readonly ServerResponse[], spreadMs: number): Promise<void> {
  await Promise.all(
    streams.map(async (stream, index) => {
      await delay((spreadMs * index) / streams.length)
      stream.destroy()
    }),
  )
}
