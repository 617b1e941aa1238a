import { getOperationAST, GraphQLError, type ExecutionArgs } from 'graphql'
import { actorOf } from '../jobs/permissions.ts'
import type { Call } from './call.ts'
import type { ChargeOperation } from './charge.ts'

/** What is told of an operation when it has ended, a subscription when it has begun: never its variables, never a token. */
interface OperationFacts {
  readonly requestId: string
  readonly operation: string
  readonly type: string
  readonly principal: string | null
  /** In points. */
  readonly cost: number
  readonly durationMs: number
  /** Whether something went wrong; what, is told where errors are masked. */
  readonly failed: boolean
}

/** An operation that has begun. */
interface Begun {
  /** Why it may not run; null: it may. */
  readonly refusal: GraphQLError | null
  /** Tells of its end. */
  end(failed: boolean): void
}

/**
 * Notes whether the operation changes something (if its connection breaks, the outcome is unknown) and has it paid for before it
 * runs, whichever door it came in by.
 */
export type BeginOperation = (args: ExecutionArgs, call: Call) => Begun

export function createBeginOperation(
  charge: ChargeOperation,
  onOperation: (operation: OperationFacts) => void,
): BeginOperation {
  return (args, call) => {
    const started = performance.now()
    const definition = getOperationAST(args.document, args.operationName)
    call.mutates = definition?.operation === 'mutation'
    return {
      refusal: refusalOf(() => charge(args, call)),
      end: (failed) =>
        onOperation({
          requestId: call.requestId,
          operation: definition?.name?.value.slice(0, 100) ?? 'anonymous',
          type: definition?.operation ?? 'none',
          principal: call.caller === null ? null : actorOf(call.caller.principal),
          cost: call.cost,
          durationMs: Math.round(performance.now() - started),
          failed,
        }),
    }
  }
}

/** What was thrown, in the form of GraphQL's results. */
function refusalOf(act: () => void): GraphQLError | null {
  try {
    act()
    return null
  } catch (error) {
    return new GraphQLError('', { originalError: error as Error })
  }
}
