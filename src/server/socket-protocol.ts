import { randomUUID } from 'node:crypto'
import {
  getOperationAST,
  GraphQLError,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
} from 'graphql'
import { makeServer, type Context, type Server, type SubscribePayload } from 'graphql-ws'
import type { WebSocket } from 'ws'
import type { Call } from './call.ts'
import type { MaskError } from './mask-errors.ts'
import { sendResults } from './send-results.ts'
import type { Results, ResultWriter } from './shared-results.ts'
import type { SocketLimits } from './socket-places.ts'
import type { SocketSession } from './socket-session.ts'
import { maskOutcome, type Yoga } from './yoga.ts'

/** What belongs to one socket. */
export interface SocketExtra {
  readonly socket: WebSocket
  /** What writes the results of a subscription to it. */
  readonly writerOf: (id: string) => ResultWriter
  readonly session: SocketSession
  /** Ids of the subscriptions under way. */
  readonly subscriptions: Set<string>
}

interface ProtocolDeps {
  readonly yoga: Yoga
  readonly maskError: MaskError
  readonly limits: SocketLimits
}

type SocketContext = Context<Record<string, unknown> | undefined, SocketExtra>

const initWithinMs = 3_000

interface Operation {
  readonly call: Call
  readonly engine: ReturnType<Yoga['getEnveloped']>
  readonly writer: ResultWriter
}

const isResults = (result: unknown): result is Results =>
  typeof result === 'object' && result !== null && 'ready' in result

/** graphql-transport-ws on the same engine, behind the same gate as HTTP. */
export function createSocketProtocol({ yoga, maskError, limits }: ProtocolDeps): Server<SocketExtra> {
  const callOf = new WeakMap<object, Operation>()
  const masked = new WeakSet<GraphQLError>()

  const refuse = (error: unknown, call: Call): readonly GraphQLError[] => {
    const shown = maskError(error, call)
    masked.add(shown)
    return [shown]
  }

  /** From a message to what can be run, or to the errors that it is answered with. */
  const prepare = async (
    extra: SocketExtra,
    id: string,
    payload: SubscribePayload,
    call: Call,
  ): Promise<ExecutionArgs | readonly GraphQLError[]> => {
    const engine = yoga.getEnveloped({ call })
    const document = engine.parse(payload.query)
    const invalid: readonly GraphQLError[] = engine.validate(engine.schema, document)
    if (invalid.length > 0) return invalid.flatMap((error) => refuse(error, call))
    const operation = getOperationAST(document, payload.operationName)
    if (operation == null)
      throw badInput('The document holds no operation of that name. Name one with `operationName`.')
    const contextValue = (await engine.contextFactory()) as object
    if (operation.operation === 'subscription') {
      if (extra.subscriptions.size >= limits.subscriptionsPerSocket)
        throw tooMany(`${limits.subscriptionsPerSocket} subscriptions`)
      extra.subscriptions.add(id)
    }
    callOf.set(contextValue, { call, engine, writer: extra.writerOf(id) })
    return {
      schema: engine.schema,
      document,
      operationName: payload.operationName ?? null,
      variableValues: payload.variables ?? {},
      contextValue,
    }
  }

  /** An operation that fails ends by itself: the others on the socket go on. */
  const run = async (how: 'execute' | 'subscribe', args: ExecutionArgs) => {
    try {
      const { engine, writer } = callOf.get(args.contextValue as object)!
      const result: unknown = await engine[how](args)
      return (isResults(result) ? sendResults(result, writer) : result) as
        | ExecutionResult
        | AsyncGenerator<ExecutionResult>
    } catch (error) {
      return {
        errors: [error instanceof GraphQLError ? error : new GraphQLError('', { originalError: error as Error })],
      }
    }
  }

  return makeServer<Record<string, unknown> | undefined, SocketExtra>({
    connectionInitWaitTimeout: initWithinMs,
    async onConnect({ extra, connectionParams }) {
      const authorization = authorizationIn(connectionParams)
      return authorization === null || extra.session.identify(authorization)
    },
    async onSubscribe({ extra, subscriptions }: SocketContext, id, payload) {
      // GraphiQL puts its headers here.
      const authorization = authorizationIn(payload.extensions)
      const { session } = extra
      if (session.caller() === null && authorization !== null) await session.identify(authorization)
      const call: Call = {
        requestId: randomUUID(),
        traceparent: null,
        caller: session.caller(),
        mutates: false,
        cost: 0,
        budget: null,
      }
      try {
        if (extra.socket.readyState !== extra.socket.OPEN) throw badInput('The socket was closed.')
        if (Object.keys(subscriptions).length > limits.operationsPerSocket)
          throw tooMany(`${limits.operationsPerSocket} operations`)
        return await prepare(extra, id, payload, call)
      } catch (error) {
        return refuse(error, call)
      }
    },
    execute: (args) => run('execute', args),
    subscribe: (args) => run('subscribe', args),
    onNext(_, _id, _payload, args, result) {
      if (result.errors === undefined) return undefined
      const { call } = callOf.get(args.contextValue as object)!
      const { errors = [], ...rest } = maskOutcome(result, maskError, call)
      return { ...(rest as Pick<FormattedExecutionResult, 'data'>), errors: errors.map((error) => error.toJSON()) }
    },
    onError(_, _id, _payload, errors) {
      return errors.map((error) =>
        (masked.has(error) ? error : maskError(error, { requestId: randomUUID(), mutates: false })).toJSON(),
      )
    },
    onComplete({ extra }, id) {
      extra.subscriptions.delete(id)
    },
  })
}

/** Where clients put their token: beside `connection_init`, or under `headers` in any spelling. */
function authorizationIn(params: Record<string, unknown> | null | undefined): string | null {
  const places = [params, params?.['headers']]
  for (const place of places) {
    if (typeof place !== 'object' || place === null) continue
    const found = Object.entries(place).find(([name]) => name.toLowerCase() === 'authorization')?.[1]
    if (typeof found === 'string' && found !== '') return found
  }
  return null
}

const badInput = (message: string): GraphQLError =>
  new GraphQLError(message, { extensions: { code: 'BAD_USER_INPUT' } })

const tooMany = (what: string): GraphQLError =>
  new GraphQLError(`There are ${what} under way on this socket. Wait for some to end, or open another one.`, {
    extensions: { code: 'RATE_LIMITED' },
  })
