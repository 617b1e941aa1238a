import { GraphQLError, type ExecutionArgs, type GraphQLSchema } from 'graphql'
import { createYoga, isAsyncIterable, processRegularResult, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import type { Admit } from './admit.ts'
import type { Authenticate } from './auth.ts'
import type { BeginOperation } from './begin-operation.ts'
import type { Call, Outcome } from './call.ts'
import { statusOfCode, type MaskError } from './mask-errors.ts'
import { createSubscribeShared, type SubscribeShared } from './shared-results.ts'

/** A call that came by HTTP. */
export interface HttpCall extends Call {
  readonly authorization: string | null
  /** Whether the client asked for server-sent events, and for nothing else. */
  readonly accepts: 'events' | 'events or json' | 'json'
  /** Left here instead of a response: what is to be sent as events. */
  events: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly results: AsyncIterable<Outcome>
  } | null
}

/** Yoga copies what it is given: the call stands one level below, so that all hooks see the same one. */
export interface YogaContext<Kind extends Call = Call> {
  readonly call: Kind
}

export type Yoga = YogaServerInstance<YogaContext, object>

/** What a door to the operations needs. */
export interface OperationDeps {
  readonly schema: GraphQLSchema
  readonly contextFor: (call: Call) => object
  readonly authenticate: Authenticate
  readonly admit: Admit
  readonly begin: BeginOperation
  readonly maskError: MaskError
}

/** The GraphQL engine of all doors. In `plugins` the hooks of HTTP alone come first, those that guard the WebSocket too come after. */
export function createYogaServer({ schema, contextFor, authenticate, admit, begin, maskError }: OperationDeps): Yoga {
  return createYoga<YogaContext, object>({
    schema,
    context: ({ call }) => contextFor(call),
    // The route table has a page, a health check and CORS of its own, and reads bodies itself.
    graphiql: false,
    landingPage: false,
    healthCheckEndpoint: '/graphql/none',
    cors: false,
    multipart: false,
    maxRequestBodySize: false,
    batching: false,
    logging: false,
    // Errors are masked by a hook that knows the request.
    maskedErrors: false,
    // admit() keeps the documents, and refuses some to some callers: only whether one is valid is kept here.
    parserAndValidationCache: { documentCache: keepNothing, errorCache: keepNothing },
    plugins: [
      useCaller(authenticate),
      useOutcome(maskError),
      useAdmit(admit),
      useOperation(begin, createSubscribeShared(contextFor)),
    ],
  })
}

const keepNothing = { get: () => undefined, set: () => undefined }

/** Finds out who is calling before anything of the request is looked at. */
function useCaller(authenticate: Authenticate): Plugin<object, YogaContext<HttpCall>> {
  return {
    async onRequestParse({ serverContext: { call } }) {
      call.caller = await authenticate(call.authorization)
    },
  }
}

/** Masks what leaves by HTTP, sets its status, and hands events over to the socket that they are written to. */
function useOutcome(maskError: MaskError): Plugin<object, YogaContext<HttpCall>> {
  return {
    onResultProcess({ result, setResult, setResultProcessor, serverContext: { call } }) {
      if (Array.isArray(result)) return
      const finish = (each: Outcome): Outcome => maskOutcome(each, maskError, call)
      const streams = isAsyncIterable(result)
      if (streams && call.accepts === 'json') {
        void result[Symbol.asyncIterator]().return?.()
        setResult(withStatus(finish({ errors: [subscriptionOverJson()] })))
        setResultProcessor(processRegularResult, 'application/json')
        return
      }
      if (!streams && call.accepts !== 'events') {
        setResult(withStatus(finish(result as Outcome)))
        return
      }
      if (streams) {
        call.events = { status: 200, headers: {}, results: mapped(result as AsyncIterable<Outcome>, finish) }
      } else {
        const outcome = finish(result as Outcome)
        call.events = { status: statusOf(outcome), headers: headersOf(outcome), results: once(outcome) }
      }
      setResultProcessor(() => new Response(null), 'text/event-stream')
    },
  }
}

/** Puts the one gate before execution, for every door. */
function useAdmit(admit: Admit): Plugin<YogaContext> {
  return {
    onParse({ context, setParseFn }) {
      setParseFn((source) => admit(typeof source === 'string' ? source : source.body, context.call.caller))
    },
  }
}

/** Accounts for every operation, refused ones too, and lets subscriptions share their results. */
function useOperation(begin: BeginOperation, subscribe: SubscribeShared): Plugin<YogaContext> {
  return {
    onExecute({ args, context, setResultAndStopExecution }) {
      const { refusal, end } = begin(args as ExecutionArgs, context.call)
      if (refusal !== null) setResultAndStopExecution({ errors: [refusal] })
      return { onExecuteDone: ({ result }) => end('errors' in result && (result.errors?.length ?? 0) > 0) }
    },
    onSubscribe({ args, context, setResultAndStopExecution, setSubscribeFn }) {
      const { refusal, end } = begin(args as ExecutionArgs, context.call)
      if (refusal !== null) setResultAndStopExecution({ errors: [refusal] })
      setSubscribeFn((subscription: ExecutionArgs) => subscribe(subscription, context.call))
      return { onSubscribeResult: ({ result }) => end('errors' in result) }
    },
  }
}

/** The result as it may leave. */
export function maskOutcome(result: Outcome, maskError: MaskError, call: Call): Outcome {
  if (result.errors === undefined || result.errors.length === 0) return result
  return { ...result, errors: result.errors.map((error) => maskError(error, call)) }
}

const subscriptionOverJson = (): GraphQLError =>
  new GraphQLError('A subscription answers with a stream. Send `accept: text/event-stream`, or use a WebSocket.', {
    extensions: { code: 'BAD_USER_INPUT' },
  })

export function statusOf({ errors = [] }: Outcome): number {
  const statuses = errors.map(({ extensions }) => statusOfCode[extensions['code'] as keyof typeof statusOfCode])
  return Math.max(200, ...statuses)
}

export function headersOf({ errors }: Outcome): Readonly<Record<string, string>> {
  const retryAfter = errors?.find(({ extensions }) => typeof extensions['retryAfter'] === 'number')?.extensions[
    'retryAfter'
  ]
  return typeof retryAfter === 'number' ? { 'retry-after': retryAfter.toString() } : {}
}

/** Yoga reads status and headers from here, and leaves this out of what it sends. */
function withStatus(outcome: Outcome): object {
  const http = { status: statusOf(outcome), headers: headersOf(outcome) }
  return { ...outcome, extensions: { ...outcome.extensions, http } }
}

async function* once(outcome: Outcome): AsyncIterable<Outcome> {
  yield outcome
}

/** By hand: leaving a generator that awaits its source would wait for the source's next event. */
function mapped(source: AsyncIterable<Outcome>, map: (outcome: Outcome) => Outcome): AsyncIterable<Outcome> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]()
      return {
        async next() {
          const step = await iterator.next()
          return step.done === true ? step : { done: false, value: map(step.value) }
        },
        async return() {
          await iterator.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}
