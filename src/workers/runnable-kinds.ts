import { databaseFault } from '../jobs/database-fault.ts'
import { Snooze, StellwerkError } from '../jobs/errors.ts'
import type { KindCatalogue } from '../jobs/kind.ts'
import type { BuiltInKind } from '../jobs/kinds.ts'
import type { OwnKind } from './define-kind.ts'
import type { RunnableKind } from './execution.ts'
import type { Handler } from './handler.ts'

/**
 * The kinds that this process can run, by name: the built-in handlers (null: not served here) and those of one's own kinds.
 * A kind of the catalogue that is missing here waits for another instance.
 */
export function runnableKinds(
  catalogue: KindCatalogue,
  builtIn: Readonly<Record<BuiltInKind, Handler | null>>,
  ownKinds: readonly OwnKind[],
): ReadonlyMap<string, RunnableKind> {
  const runnable = new Map<string, RunnableKind>()
  for (const [name, handler] of Object.entries(builtIn)) {
    if (handler !== null) runnable.set(name, { kind: catalogue.get(name)!, handler: patient(handler) })
  }
  for (const { name, run, onFailure } of ownKinds) {
    const kind = catalogue.get(name)!
    runnable.set(name, onFailure === null ? { kind, handler: run } : { kind, handler: run, onFailure })
  }
  return runnable
}

const databaseAwayMs = 1_000

/** Stellwerk's own database is away: no failure of the job, which is called again (FAULTS F12). What one's own handlers throw is theirs to judge. */
function patient(handler: Handler): Handler {
  return async (context) => {
    try {
      return await handler(context)
    } catch (error) {
      throw !(error instanceof StellwerkError) && databaseFault(error) === 'unavailable'
        ? new Snooze(databaseAwayMs)
        : error
    }
  }
}
