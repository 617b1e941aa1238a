import type { Outcome } from '../jobs/decide.ts'
import type { Ending } from './ending.ts'
import { createExecution, type Execution, type RunnableKind } from './execution.ts'
import type { HandlerContext, HandlerResult } from './handler.ts'
import type { Run } from './run.ts'

/** Runs one job: run the handler, decide, settle. */
export interface Executor {
  /** Starts a run; `onFree` is told once its handler's promise has settled and the slot is free. */
  start(run: Run, onFree: (execution: Execution) => void): Execution
  /** Ends the run without its handler: what the handler still does changes nothing. */
  giveUp(execution: Execution, outcome: Outcome): void
}

interface ExecutorDeps {
  readonly kinds: ReadonlyMap<string, RunnableKind>
  readonly contextOf: (execution: Execution) => HandlerContext<unknown>
  readonly end: Ending
}

export function createExecutor({ kinds, contextOf, end }: ExecutorDeps): Executor {
  const execute = async (execution: Execution, onFree: (execution: Execution) => void): Promise<void> => {
    let outcome: Outcome
    let result: HandlerResult | undefined
    try {
      result = (await execution.runnable.handler(contextOf(execution))) ?? undefined
      outcome = { type: 'resolved' }
    } catch (thrown) {
      outcome = { type: 'threw', thrown }
    }
    if (execution.progress !== undefined) await execution.progress.finish()
    const ending = end(execution, outcome, result)
    if (ending !== undefined) await ending
    onFree(execution)
  }

  return {
    start(run, onFree) {
      const now = performance.now()
      run.startedAt = now
      run.state = 'running'
      const execution = createExecution(run, kinds.get(run.kind)!, now)
      void execute(execution, onFree)
      return execution
    },
    giveUp(execution, outcome) {
      void end(execution, outcome, undefined)
    },
  }
}
