import { isDeepStrictEqual } from 'node:util'
import { findMissingJournalMonths } from '../sql/find-missing-journal-months.ts'
import { readKinds } from '../sql/read-kinds.ts'
import { readWarningFacts } from '../sql/read-warning-facts.ts'
import type { RequestContext } from './context.ts'
import { kindView } from './kind-view.ts'

/** Longer than any transaction of ours, by far. */
const heldForMs = 5 * 60 * 1_000
const monthsAhead = 1

/** Whole sentences for operators: what is not as it should be, and what to do. */
export async function readWarnings(context: RequestContext): Promise<string[]> {
  const { pools, deadAfterMs, wakeup } = context.deps
  const [[facts], missing, differing] = await Promise.all([
    readWarningFacts(pools.api, deadAfterMs, heldForMs),
    findMissingJournalMonths(pools.api, monthsAhead),
    differingKinds(context),
  ])
  const { unserved, held, heldBy, stray } = facts!
  return [
    ...differing.map(
      (kind) =>
        `The kind ${kind} has other defaults in the database than in this instance: another version started last. Bring all instances to one version.`,
    ),
    ...unserved.map(
      (kind) =>
        `Jobs of the kind ${kind} are due, but no worker serves it. Start an instance that does, or look into its pools.`,
    ),
    ...(held === null
      ? []
      : [
          `The database session ${held.pid} (${held.application || 'without a name'}) has held a snapshot for ${held.seconds} seconds: dead rows cannot be removed and claims become slower. End it.`,
        ]),
    ...(heldBy === null
      ? []
      : [
          `In the database ${heldBy} holds a snapshot: dead rows cannot be removed and claims become slower. End it, or let it catch up.`,
        ]),
    ...(wakeup.isConnected()
      ? []
      : [
          'This instance does not hear the others (LISTEN is away): it finds what they did by its poll. The connection is tried again by itself.',
        ]),
    ...missing.map(
      ({ month }) =>
        `The journal has no partition for ${month}. Run \`stellwerk migrate\`, or see that cleanup_jobs runs.`,
    ),
    ...(stray === 0
      ? []
      : [
          `${stray >= 1_000 ? 'At least 1,000' : stray} rows of the journal lie in its DEFAULT partition, where retention does not find them: a month's partition was missing when they were written.`,
        ]),
  ]
}

async function differingKinds(context: RequestContext): Promise<string[]> {
  const registered = await readKinds(context.deps.pools.api, [...context.deps.kinds.keys()])
  const differs = await Promise.all(
    registered.map(
      async (kind) => !isDeepStrictEqual(defaultsOf(kind), defaultsOf(await kindView(kind.name, context))),
    ),
  )
  return registered.filter((_, index) => differs[index]).map(({ name }) => name)
}

/** What bears on how jobs are treated; a description may differ. */
function defaultsOf(kind: Awaited<ReturnType<typeof kindView>>): unknown {
  const {
    priority,
    maxAttempts,
    backoffBaseMs,
    backoffMaxMs,
    backoffJitter,
    timeoutMs,
    staleAfterMs,
    maxConcurrency,
    retentionMs,
    rateLimit,
  } = kind
  return [
    priority,
    maxAttempts,
    backoffBaseMs,
    backoffMaxMs,
    backoffJitter,
    timeoutMs,
    staleAfterMs,
    maxConcurrency,
    retentionMs,
    rateLimit && [rateLimit.rps, rateLimit.burst],
  ]
}
