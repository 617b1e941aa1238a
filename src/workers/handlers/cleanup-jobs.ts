import type { Handler, HandlerContext } from '../handler.ts'

/** One thing that `cleanup_jobs` does. It may run twice, ends soon after `signal` fires, and what one run leaves the next one finds. */
export interface CleanupStep {
  readonly name: string
  /** Answers what it did, for the job's result; `signal` also fires when the step's minute is over. */
  run(context: Pick<HandlerContext<unknown>, 'signal' | 'progress' | 'log'>): Promise<Readonly<Record<string, unknown>>>
}

/** No step may take the tick from those behind it. */
const stepMs = 60_000

/** Runs all steps of the tick (SPEC section 7). A step that fails stops no other; the job fails at the end and names them all. */
export function createCleanupJobs(steps: readonly CleanupStep[]): Handler {
  return async ({ signal, progress, log }) => {
    const result: Record<string, unknown> = {}
    const failures: Error[] = []
    for (const [done, { name, run }] of steps.entries()) {
      signal.throwIfAborted()
      await progress({ done, total: steps.length, message: name })
      try {
        Object.assign(
          result,
          await run({ signal: AbortSignal.any([signal, AbortSignal.timeout(stepMs)]), progress, log }),
        )
      } catch (error) {
        signal.throwIfAborted()
        failures.push(new Error(`${name}: ${(error as Error).message}`, { cause: error }))
      }
    }
    if (failures.length === 1) throw failures[0]!
    if (failures.length > 1) throw new AggregateError(failures, failures.map(({ message }) => message).join('; '))
    return { result }
  }
}
