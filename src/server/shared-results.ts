import {
  createSourceEventStream,
  executeSubscriptionEvent,
  validateSubscriptionArgs,
  visit,
  type ExecutionArgs,
  type ExecutionResult,
  type OperationDefinitionNode,
  type ValidatedSubscriptionArgs,
} from 'graphql'
import { isAsyncIterable } from 'graphql-yoga'
import type { Stream } from '../events/stream.ts'
import type { Caller } from '../jobs/permissions.ts'
import type { Call, Outcome } from './call.ts'

/** A subscription's results, each fetched when the one before has left. */
export interface Results extends AsyncGenerator<Outcome, undefined> {
  /** The next result where it is there already, for who writes several at once; undefined: ask `next`. Never while `next` waits. */
  ready(): Outcome | undefined
  /** Calls once when there may be something: then ask `ready`, and where that has nothing, `next`. False: ask `next`. */
  listen(hear: () => void): boolean
}

/**
 * Subscribes. What the source yields to several subscriptions as the same object is executed once for all that ask the same with the
 * same rights, and the same result object goes to all: who serializes it can do so once, too. Results with errors are nobody else's,
 * since they carry the id of a request.
 */
export type SubscribeShared = (args: ExecutionArgs, call: Call) => Promise<Results | ExecutionResult>

type Executed = Outcome | Promise<Outcome>

/** Results are needed again at once or never; older ones go, so that what the journal's window keeps does not keep them too. */
const mostKept = 200

export function createSubscribeShared(contextFor: (call: Call) => object): SubscribeShared {
  const executed = new WeakMap<object, Map<string, Executed>>()
  let kept: Map<string, Executed>[] = []

  const keptOf = (value: object): Map<string, Executed> => {
    let results = executed.get(value)
    if (results !== undefined) return results
    executed.set(value, (results = new Map()))
    kept.push(results)
    if (kept.length > mostKept) {
      for (const old of kept.slice(0, mostKept / 2)) old.clear()
      kept = kept.slice(mostKept / 2)
    }
    return results
  }

  return async (args, call) => {
    const validated = validateSubscriptionArgs(args)
    if (!('operation' in validated)) return { errors: validated }
    const source = await createSourceEventStream(validated)
    if (!isAsyncIterable(source)) return source
    const question = questionOf(validated, args)

    // Loaders remember what they read: each message has its own.
    const execute = (value: unknown): Executed =>
      executeSubscriptionEvent({ ...validated, rootValue: value, contextValue: contextFor(call) })

    const executeShared = (value: unknown): Executed => {
      if (typeof value !== 'object' || value === null) return execute(value)
      const results = keptOf(value)
      const key = `${question} ${rightsOf(call.caller)}`
      const known = results.get(key)
      if (known !== undefined)
        return known instanceof Promise ? known.then((result) => (isSound(result) ? result : execute(value))) : known
      const own = execute(value)
      results.set(key, own)
      const settle = (result: Outcome): void => void (isSound(result) ? results.set(key, result) : results.delete(key))
      if (own instanceof Promise) own.then(settle, () => results.delete(key))
      else settle(own)
      return own
    }
    return resultsOf(source, executeShared)
  }
}

const isSound = ({ errors }: Outcome): boolean => errors === undefined

function resultsOf(source: AsyncIterable<unknown>, execute: (value: unknown) => Executed): Results {
  const iterator = source[Symbol.asyncIterator]() as AsyncIterator<unknown> &
    Partial<Pick<Stream<unknown>, 'ready' | 'listen'>>
  /** Taken from the source, and not done when it was asked for. */
  let underWay: Promise<Outcome> | undefined
  const end = async () => {
    await iterator.return?.()
    return { done: true, value: undefined } as const
  }
  const results: Results = {
    async next() {
      if (underWay === undefined) {
        const step = await iterator.next()
        if (step.done === true) return { done: true, value: undefined }
        return { done: false, value: await execute(step.value) }
      }
      const result = await underWay
      underWay = undefined
      return { done: false, value: result }
    },
    ready() {
      if (underWay !== undefined) return undefined
      const value = iterator.ready?.()
      if (value === undefined) return undefined
      const result = execute(value)
      if (!(result instanceof Promise)) return result
      // Whoever asks for it hears of its failure.
      result.catch(() => undefined)
      underWay = result
      return undefined
    },
    listen: (hear) => underWay === undefined && iterator.listen?.(hear) === true,
    return: end,
    async throw(error) {
      await end()
      throw error
    },
    [Symbol.asyncIterator]: () => results,
    [Symbol.asyncDispose]: async () => void (await end()),
  }
  return results
}

const operations = new WeakMap<
  OperationDefinitionNode,
  { readonly number: number; readonly variables: ReadonlySet<string> }
>()
let operationCount = 0

/** What a result depends on beside the event and the caller: the operation, and the variables of it that are not only arguments of its root field. */
function questionOf({ operation }: ValidatedSubscriptionArgs, { document, variableValues }: ExecutionArgs): string {
  let known = operations.get(operation)
  if (known === undefined) {
    const variables = new Set<string>()
    const roots = new Set<unknown>(operation.selectionSet.selections)
    visit(document, {
      VariableDefinition: () => false,
      Argument: (_node, _key, _parent, _path, ancestors) => (roots.has(ancestors.at(-1)) ? false : undefined),
      Variable: (node) => void variables.add(node.name.value),
    })
    operations.set(operation, (known = { number: (operationCount += 1), variables }))
  }
  const values = [...known.variables].toSorted().map((name) => variableValues?.[name] ?? null)
  return `${known.number} ${JSON.stringify(values)}`
}

const namesOfTenants = new WeakMap<ReadonlySet<string>, string>()
const namesOfScopes = new WeakMap<ReadonlySet<string>, string>()

/** Everything of a caller that results depend on. */
function rightsOf(caller: Caller | null): string {
  if (caller === null) return 'nobody'
  const { tenantIds, scopes } = caller
  return `${nameOf(scopes, namesOfScopes)} ${tenantIds === 'all' ? 'all' : nameOf(tenantIds, namesOfTenants)}`
}

function nameOf(set: ReadonlySet<string>, names: WeakMap<ReadonlySet<string>, string>): string {
  let name = names.get(set)
  if (name === undefined) names.set(set, (name = [...set].toSorted().join(',')))
  return name
}
