import { databaseFault } from '../../../jobs/database-fault.ts'
import { Snooze, StellwerkError } from '../../../jobs/errors.ts'
import { cutBytes } from '../../../jobs/failure.ts'
import type { WantedIndex } from '../../../sql/entity-index-parts.ts'
import type { FoundIndex } from '../../../sql/find-entity-indexes.ts'
import { journalWork } from '../../../sql/journal-work.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { HandlerContext, HandlerResult } from '../../handler.ts'
import { statementsIn } from '../statements-in.ts'
import { openDdlSession, type DdlSession } from './ddl-session.ts'
import { dropLeftovers, makeIndexesSo } from './make-indexes-so.ts'
import { watchBuild } from './watch-build.ts'

export interface IndexJobDeps {
  /** Past any pooler: the session holds a lock and runs for up to an hour. */
  readonly url: string
  readonly db: Queryable
  readonly lockMs?: number
  readonly statementMs?: number
}

/** Why an index is not there, as it is kept with its owner. */
export interface IndexFault {
  readonly code: string
  readonly message: string
  readonly bad_rows?: number
  readonly sample?: readonly string[]
}

/** Whose indexes are looked after, as read under the lock. */
export interface IndexOwner {
  /** `the attribute price of product`. */
  readonly name: string
  /** What stands in the audit log beside what was done. */
  readonly facts: Readonly<Record<string, unknown>>
  readonly wanted: readonly WantedIndex[]
  readonly outdated: boolean
  readonly find: (db: Queryable) => Promise<FoundIndex[]>
  /** Looks at the data before a build; a fault: it is not begun. */
  readonly check: (db: Queryable) => Promise<IndexFault | null>
  readonly mark: (db: Queryable, status: 'pending' | 'building' | 'failed', error: IndexFault | null) => Promise<void>
  /** False: it was toggled since; another job follows. */
  readonly finish: (db: Queryable) => Promise<boolean>
}

const table = 'mdm.ddm_entity'
const standardLockMs = 5 * 60_000
/** A little less than the kind's own limit, so that the server says what happened. */
const standardStatementMs = 54 * 60_000
const waitAgainMs = 30_000
const cleanUpMs = 60_000
/** A process that stops has a second and a half for what its handlers leave. */
const hurriedCleanUpMs = 1_000
const shortestBusyMs = 500
const retried = new Set(['40P01', '40001', '55P03'])

/**
 * One job about the indexes of entities: takes the table's lock in a session of its own, reads what is wanted now, makes it so, and says so in the
 * job's last transaction. Outside of any transaction in between; every step may be the last (KINDS 8).
 */
export async function runIndexJob(
  deps: IndexJobDeps,
  context: HandlerContext<unknown>,
  read: (db: Queryable) => Promise<IndexOwner>,
): Promise<HandlerResult> {
  const session = await openDdlSession({
    url: deps.url,
    db: deps.db,
    table,
    lockMs: deps.lockMs ?? standardLockMs,
    statementMs: deps.statementMs ?? standardStatementMs,
  })
  if (session === null) throw new Snooze(busyMs(context))
  try {
    const owner = await read(session)
    return await makeSo(deps, context, session, owner)
  } finally {
    await session.end()
  }
}

async function makeSo(
  deps: IndexJobDeps,
  context: HandlerContext<unknown>,
  session: DdlSession,
  owner: IndexOwner,
): Promise<HandlerResult> {
  const { job, signal, progress } = context
  let jobResult: Record<string, unknown> = {}
  const mark = (status: 'pending' | 'building' | 'failed', error: IndexFault | null): Promise<void> =>
    context.transaction(async (tx) => {
      const db = statementsIn(tx)
      await owner.mark(db, status, error)
      if (status === 'failed')
        await journalWork(db, job.id, 'index_change', JSON.stringify({ ...owner.facts, status, error }))
    })

  const watch = watchBuild(deps.db, session.pid, progress)
  let fault: IndexFault | null = null
  try {
    const changes = await makeIndexesSo({
      session,
      wanted: owner.wanted,
      find: () => owner.find(session),
      outdated: owner.outdated,
      signal,
      beforeBuild: async () => {
        fault = await owner.check(session)
        if (fault !== null) throw new Error(fault.message)
        await mark('building', null)
      },
    })
    jobResult = { ...changes, indexes: owner.wanted.map(({ name }) => name) }
  } catch (error) {
    const thrown = signal.aborted ? (signal.reason as Error) : await notBuilt(error as Error, owner, fault, mark)
    await dropLeftovers(session, () => owner.find(session), signal.aborted ? hurriedCleanUpMs : cleanUpMs)
    throw thrown
  } finally {
    await watch.stop()
  }
  const status = owner.wanted.length === 0 ? 'none' : 'active'
  return {
    result: { status, ...jobResult },
    commit: async (tx) => {
      const db = statementsIn(tx)
      if (await owner.finish(db))
        await journalWork(db, job.id, 'index_change', JSON.stringify({ ...owner.facts, status, ...jobResult }))
    },
  }
}

/** Writes down why the index is not there, with its owner; answers what is to be thrown. */
async function notBuilt(
  error: Error,
  owner: IndexOwner,
  fault: IndexFault | null,
  mark: (status: 'pending' | 'failed', error: IndexFault | null) => Promise<void>,
): Promise<Error> {
  if (error instanceof StellwerkError) return error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const message = cutBytes(error.message, 1_000)
  if (retried.has(code)) {
    // Somebody's transaction was in the way for too long, or in a circle: no failure of the job, which keeps its attempt.
    await mark('pending', { code: 'held_up', message: `The index of ${owner.name} has to wait: ${message}` })
    return new Snooze(waitAgainMs * (0.75 + Math.random() / 2))
  }
  // The way to the server, not the server's answer: called again soon.
  if (databaseFault(error) === 'unavailable' && !/^(?:53|57014)/.test(code)) return error
  if (fault !== null) {
    await mark('failed', fault)
    return error
  }
  const told = `The index of ${owner.name} could not be built: ${message}${code === '' ? '' : ` (SQLSTATE ${code})`}`
  await mark('failed', { code: code === '' ? 'build_failed' : `sqlstate_${code}`, message: told })
  return new Error(told, { cause: error })
}

/** Another build of the table is under way: the longer the job waits already, the more rarely it looks. */
function busyMs({ job }: HandlerContext<unknown>): number {
  const age = Date.now() - job.createdAt.getTime()
  return Math.min(Math.max(age / 4, shortestBusyMs), waitAgainMs) * (0.75 + Math.random() / 2)
}
