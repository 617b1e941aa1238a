import type { Wakeup } from '../events/wakeup.ts'
import { findClosedTenants } from '../sql/find-closed-tenants.ts'
import type { Queryable } from '../sql/statement.ts'

/** Says when it is worth looking again who may do what. */
export interface RightsWatch {
  /** Told at once when a key was revoked or changed, or a tenant closed, with the tenants that were closed since the last time. */
  on(hear: (closed: ReadonlySet<string>) => void): () => void
  /** Notes which tenants are closed already. */
  start(): Promise<void>
}

/** One read a signal, however many streams are open. */
export function createRightsWatch({
  db,
  wakeup,
}: {
  readonly db: Queryable
  readonly wakeup: Pick<Wakeup, 'on'>
}): RightsWatch {
  const listeners = new Set<(closed: ReadonlySet<string>) => void>()
  let known: ReadonlySet<string> = new Set()
  let looking: Promise<void> = Promise.resolve()

  const readClosed = async (): Promise<ReadonlySet<string>> =>
    new Set((await findClosedTenants(db)).map(({ id }) => id))

  const look = async (): Promise<void> => {
    // A database that is away says nothing of tenants; the keys are looked at again all the same.
    const now = await readClosed().catch(() => known)
    const closed = now.difference(known)
    known = now
    for (const hear of listeners) hear(closed)
  }

  wakeup.on('rights', () => {
    looking = looking.then(look)
  })

  return {
    on(hear) {
      listeners.add(hear)
      return () => listeners.delete(hear)
    },
    async start() {
      known = await readClosed()
    },
  }
}
