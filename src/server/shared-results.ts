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
import type { Crowd, Hearer, Stream } from '../events/stream.ts'
import type { Caller } from '../jobs/permissions.ts'
import type { Call, Outcome } from './call.ts'
import { presentRights } from './live-caller.ts'

/** A subscription's results, each fetched when the one before has left. */
export interface Results extends AsyncGenerator<Outcome, undefined> {
  /** The next result where it is there already, for who writes several at once; undefined: ask `next`. Never while `next` waits. */
  ready(): Outcome | undefined
  /** Hands on what comes, as a stream's `listen`. False: ask `next`. */
  listen(hearer: ResultHearer): boolean
}

/** Writes results; a promise: when there is room again. */
export interface ResultWriter {
  writeOne(outcome: Outcome): Promise<void> | undefined
  write(outcomes: readonly Outcome[]): Promise<void> | undefined
}

/** Whom `writer` belongs to may get results by it alone. */
export interface ResultHearer extends Hearer<Outcome> {
  readonly writer: ResultWriter
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
    let scopes: Caller['scopes'] | undefined
    let tenantIds: Caller['tenantIds'] | undefined
    let key = ''

    /** What results depend on beside the event. */
    const keyNow = (): string => {
      const { caller } = call
      if (caller === null) return `${question} nobody`
      if (caller.scopes === scopes && caller.tenantIds === tenantIds) return key
      ;({ scopes, tenantIds } = caller)
      return (key = `${question} ${rightsOf(caller)}`)
    }

    // Loaders remember what they read: each message has its own.
    const execute = (value: unknown): Executed =>
      executeSubscriptionEvent({ ...validated, rootValue: value, contextValue: contextFor(call) })

    const executeShared = (value: unknown): Executed => {
      if (typeof value !== 'object' || value === null) return execute(value)
      const results = keptOf(value)
      const key = keyNow()
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

    const listenerOf = (hearer: ResultHearer, hear: Hearer<unknown>['hear']): Hearer<unknown> =>
      call.caller === null
        ? { hear, wake: hearer.wake }
        : new Listener(hearer, hear, call.caller, { name: keyNow(), hear: hearTogether }, executeShared)
    return resultsOf(source, executeShared, listenerOf)
  }
}

const isSound = ({ errors }: Outcome): boolean => errors === undefined

type Ended = (hearer: Hearer<unknown>, isTaken: boolean) => void

/** One of a crowd. A class, as thousands are gone through for each event: what hangs together lies together. */
class Listener implements Hearer<unknown> {
  readonly hear: Hearer<unknown>['hear']
  readonly wake: () => void
  readonly crowd: Crowd<unknown>
  readonly #writer: ResultWriter
  readonly #caller: Caller
  readonly #rights: Caller
  readonly #execute: (value: unknown) => Executed

  constructor(
    { wake, writer }: ResultHearer,
    hear: Hearer<unknown>['hear'],
    caller: Caller,
    crowd: Crowd<unknown>,
    execute: (value: unknown) => Executed,
  ) {
    this.hear = hear
    this.wake = wake
    this.crowd = crowd
    this.#writer = writer
    this.#caller = caller
    this.#rights = presentRights(caller)
    this.#execute = execute
  }

  /** Whether its rights are still those that the crowd has in common. */
  isSame(): boolean {
    return presentRights(this.#caller) === this.#rights
  }

  /** Undefined: it takes time, or has errors. */
  executeNow(value: unknown): Outcome | undefined {
    try {
      const result = this.#execute(value)
      if (!(result instanceof Promise)) return isSound(result) ? result : undefined
      // Whoever asks for it hears of its failure.
      result.catch(() => undefined)
    } catch {
      // It fails again for whoever asks.
    }
    return undefined
  }

  write(outcome: Outcome, ended: Ended): void {
    const room = this.#writer.writeOne(outcome)
    if (room === undefined) return
    ended(this, true)
    void room.then(this.wake)
  }

  ask(ended: Ended): void {
    ended(this, false)
    this.wake()
  }
}

/** Executed once, with the rights of the first who still has them; all that is left to do for each is to look at its own, and to write. */
function hearTogether(value: unknown, hearers: Iterable<Hearer<unknown>>, ended: Ended): void {
  let outcome: Outcome | undefined
  let isExecuted = false
  for (const listener of hearers as Iterable<Listener>) {
    if (!listener.isSame()) {
      listener.ask(ended)
      continue
    }
    if (!isExecuted) outcome = listener.executeNow(value)
    isExecuted = true
    if (outcome === undefined) listener.ask(ended)
    else listener.write(outcome, ended)
  }
}

function resultsOf(
  source: AsyncIterable<unknown>,
  execute: (value: unknown) => Executed,
  listenerOf: (hearer: ResultHearer, hear: Hearer<unknown>['hear']) => Hearer<unknown>,
): Results {
  const iterator = source[Symbol.asyncIterator]() as AsyncIterator<unknown> &
    Partial<Pick<Stream<unknown>, 'ready' | 'listen'>>
  /** Taken from the source, and not done when it was asked for. */
  let underWay: Promise<Outcome> | undefined
  const end = async () => {
    await iterator.return?.()
    return { done: true, value: undefined } as const
  }
  /** The result where it takes no waiting; else it is under way. */
  const executeNow = (value: unknown): Outcome | undefined => {
    let result: Executed
    try {
      result = execute(value)
    } catch (error) {
      result = Promise.reject(error as Error)
    }
    if (!(result instanceof Promise)) return result
    // Whoever asks for it hears of its failure.
    result.catch(() => undefined)
    underWay = result
    return undefined
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
      return value === undefined ? undefined : executeNow(value)
    },
    listen(hearer) {
      if (underWay !== undefined || iterator.listen === undefined) return false
      const hear = (value: unknown, more: boolean): boolean => {
        const result = executeNow(value)
        if (result !== undefined) {
          // What it asked for behind this one may be under way.
          if (!hearer.hear(result, more)) return false
          if (underWay === undefined) return true
        }
        hearer.wake()
        return false
      }
      return iterator.listen(listenerOf(hearer, hear))
    },
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
function rightsOf({ tenantIds, scopes }: Caller): string {
  return `${nameOf(scopes, namesOfScopes)} ${tenantIds === 'all' ? 'all' : nameOf(tenantIds, namesOfTenants)}`
}

function nameOf(set: ReadonlySet<string>, names: WeakMap<ReadonlySet<string>, string>): string {
  let name = names.get(set)
  if (name === undefined) names.set(set, (name = [...set].toSorted().join(',')))
  return name
}
