import type { Ending, Outcome } from './ending.ts'
import { createExecution, type Execution, type RunnableKind } from './execution.ts'
import type { HandlerContext, HandlerResult } from './handler.ts'
import type { Run } from './run.ts'

/** Runs one job: run the handler, decide, settle. */
export interface Executor {
  /** Starts a run at `now`, in monotonic milliseconds; `onFree` is told once its handler's promise has settled and the slot is free. */
  start(run: Run, now: number, onFree: OnFree): Execution
  /** Ends the run without its handler, as if that had thrown this: what it still does changes nothing. */
  giveUp(execution: Execution, thrown: unknown): void
}

type OnFree = (execution: Execution, now: number) => void

interface ExecutorDeps {
  readonly kinds: ReadonlyMap<string, RunnableKind>
  readonly contextOf: (execution: Execution) => HandlerContext<unknown>
  readonly end: Ending
}

/** Takes one job after another. */
type Slot = (execution: Execution, onFree: OnFree) => void

const resolved: Outcome = { type: 'resolved' }

export function createExecutor({ kinds, contextOf, end }: ExecutorDeps): Executor {
  const idle: Slot[] = []

  /** What hears of a handler's end serves the next run too: made anew for each it was an eighth of all that a job allocates. */
  const createSlot = (): Slot => {
    let execution: Execution
    let onFree: OnFree

    const conclude = (outcome: Outcome, result: HandlerResult | undefined): void => {
      // The slot may get its next run before this function is left.
      const ended = execution
      const told = onFree
      idle.push(slot)
      const now = performance.now()
      const ending =
        ended.progress === undefined ? end(ended, outcome, result, now) : endReported(ended, outcome, result)
      if (ending === undefined) told(ended, now)
      else void ending.then(() => told(ended, performance.now()))
    }
    const onResolved = (result: HandlerResult | void): void => conclude(resolved, result ?? undefined)
    const onThrown = (thrown: unknown): void => conclude({ type: 'threw', thrown }, undefined)

    const slot: Slot = (next, nextOnFree) => {
      execution = next
      onFree = nextOnFree
      try {
        Promise.resolve(next.runnable.handler(contextOf(next))).then(onResolved, onThrown)
      } catch (thrown) {
        // A handler in plain JavaScript may throw at once.
        queueMicrotask(() => onThrown(thrown))
      }
    }
    return slot
  }

  /** What the handler has reported goes to the row before its end does. */
  const endReported = async (
    execution: Execution,
    outcome: Outcome,
    result: HandlerResult | undefined,
  ): Promise<void> => {
    await execution.progress!.finish()
    await end(execution, outcome, result, performance.now())
  }

  return {
    start(run, now, onFree) {
      run.startedAt = now
      run.state = 'running'
      const execution = createExecution(run, kinds.get(run.kind)!)
      const slot = idle.pop() ?? createSlot()
      slot(execution, onFree)
      return execution
    },
    giveUp(execution, thrown) {
      void end(execution, { type: 'threw', thrown }, undefined, performance.now())
    },
  }
}
