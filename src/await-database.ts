import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { checkServer } from './db/check-server.ts'
import { migrate, migrationStatus } from './db/migrate.ts'
import { databaseFault } from './jobs/database-fault.ts'
import { StartError } from './jobs/errors.ts'

interface AwaitOptions {
  readonly url: string
  /** False: a database that is behind is refused. */
  readonly migrates: boolean
  readonly log: Logger
  /** Ends the waiting. */
  readonly signal: AbortSignal
}

const retryEveryMs = 1_000

/**
 * Waits until the database answers, brings it up to date and does what the service has to do on it before it can start.
 * Begins anew where the server goes away in the middle; what waiting cannot mend is thrown.
 */
export async function awaitDatabase<Result>(options: AwaitOptions, prepare: () => Promise<Result>): Promise<Result> {
  for (;;) {
    await serverReady(options)
    try {
      await bringUpToDate(options)
      return await prepare()
    } catch (error) {
      if (databaseFault(error) !== 'unavailable') throw error
      options.log.warn({ err: error }, 'the database went away during the start')
    }
  }
}

async function serverReady({ url, log, signal }: AwaitOptions): Promise<void> {
  for (let told = ''; ;) {
    signal.throwIfAborted()
    const check = await checkServer(url)
    if (check.kind === 'ready') return
    if (check.kind === 'refused') throw new StartError(check.message)
    if (check.message !== told) log.warn(`${check.message} Trying again every second.`)
    told = check.message
    await wait(retryEveryMs, undefined, { signal })
  }
}

async function bringUpToDate({ url, migrates, log }: AwaitOptions): Promise<void> {
  if (migrates) {
    const { applied } = await migrate(url)
    if (applied.length > 0) log.info({ migrations: applied }, 'migrated')
    return
  }
  const behind = (await migrationStatus(url))
    .filter((row) => row.state !== 'applied')
    .map((row) => `${row.name} is ${row.state}`)
  if (behind.length > 0)
    throw new StartError(
      `The database does not fit this version (${behind.join(', ')}) and STELLWERK_MIGRATE is off. Run stellwerk migrate.`,
    )
}
