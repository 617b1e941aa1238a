import { setTimeout as wait } from 'node:timers/promises'
import type { Pool } from 'pg'
import { inTransaction } from '../db/transaction.ts'
import { databaseFault } from '../jobs/database-fault.ts'
import type { Decision } from '../jobs/decide.ts'
import { redactSecrets } from '../jobs/failure.ts'
import type { EndFacts, EndOutcome, Events, ReleaseCause } from '../jobs/event.ts'
import { dropClaims } from '../sql/drop-claims.ts'
import { failJobs } from '../sql/fail-jobs.ts'
import { finishJobsWithResults } from '../sql/finish-jobs-with-results.ts'
import { finishJobs } from '../sql/finish-jobs.ts'
import { releaseJobs } from '../sql/release-jobs.ts'
import { plainList } from '../sql/settle-parts.ts'
import type { Queryable } from '../sql/statement.ts'
import { createBacklog } from './backlog.ts'
import { writeEffects, type EffectRow } from './effect.ts'
import type { Pulse } from './pulses.ts'
import type { Claim, Run } from './run.ts'

/** A run and what is to become of its job. */
export type End =
  | Finish
  | {
      readonly run: Run
      readonly move: 'fail'
      readonly durationMs: number
      readonly decision: Extract<Decision, { move: 'fail' }>
      readonly logText: string | null
    }
  | {
      readonly run: Run
      readonly move: 'release'
      readonly durationMs: number
      readonly delayMs: number
      readonly cause: ReleaseCause
      readonly unstarted: boolean
    }

/** It is what observers are told of it, too: a drain makes one of these for each job, and nothing else at its end. */
interface Finish extends EndFacts {
  readonly run: Run
  readonly move: 'finish'
  readonly resultText: string | null
  /** Null: none. */
  readonly effects: Effects | null
}

export function finishOf(run: Run, durationMs: number, resultText: string | null, effects: Effects | null): Finish {
  return {
    run,
    move: 'finish',
    durationMs,
    resultText,
    effects,
    outcome: 'success',
    error: null,
    retryAt: null,
    release: null,
  }
}

/** Rows that commit with an end. */
export interface Effects {
  readonly rows: readonly EffectRow[]
  /** Told when the database refuses them: the run has failed. */
  readonly refused: (error: Error) => void
}

/** What the database made of an end. */
export type Settled =
  | { readonly lost: true }
  | {
      readonly lost: false
      readonly outcome: EndOutcome
      readonly retryAt: Date | null
      /** Who asked for the end, and why, where that is what ended it. */
      readonly stop: { readonly cause: 'stopped' | 'cancelled'; readonly reason: string | null } | null
    }

export interface Completer {
  /** Settles with whatever else ends meanwhile: one statement and one commit for all that gather while a flush is under way. */
  settle(end: End): void
  /** Settles in the caller's transaction; the caller tells by `committed` once it has committed. */
  settleIn(tx: Queryable, end: End): Promise<Settled>
  /** `uncertain`: an earlier try may have committed, so that a lost claim says nothing. */
  committed(end: End, settled: Settled, uncertain?: boolean): void
  /** How many ends wait for their commit. */
  pending(): number
  /** Resolves when at most so many ends wait for their commit. */
  below(count: number): Promise<void>
  /** Resolves when nothing is left to settle. */
  idle(): Promise<void>
}

interface CompleterDeps {
  readonly pool: Pool
  readonly events: Events
  readonly pulse: Pulse
  readonly worker: { readonly id: number; readonly name: string }
  /** Called after each commit; `waiting`: some jobs now wait for a later moment; `dueAgain`: some went back and are due. */
  readonly afterCommit: (facts: { readonly waiting: boolean; readonly dueAgain: boolean }) => void
}

const claimLost: Settled = { lost: true }
const success: Settled = { lost: false, outcome: 'success', retryAt: null, stop: null }
const largestGroup = 1_000
const retryAfterMs = [20, 100, 500, 2_000]

/** Natural group commit of the ends of runs (DESIGN section 3, Settle). */
export function createCompleter({ pool, events, pulse, worker, afterCommit }: CompleterDeps): Completer {
  const queues: Record<End['move'], End[]> = { finish: [], fail: [], release: [] }
  const backlog = createBacklog()
  let flushing = false

  const flush = async (): Promise<void> => {
    flushing = true
    pulse.begin()
    while (backlog.pending() > 0) {
      for (const move of ['finish', 'fail', 'release'] as const) {
        const queue = queues[move]
        while (queue.length > 0) {
          const group = takeGroup(queue)
          await settleGroup(group)
          pulse.next(0)
          backlog.done(group.length)
        }
      }
    }
    flushing = false
    pulse.rest()
  }

  /** Settles a group whatever it takes; a row that the database refuses falls out and goes its own way. */
  const settleGroup = async (group: readonly End[]): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const settled = group.some(hasEffects)
          ? await inTransaction(pool, (tx) => settleEnds(tx, group))
          : await settleEnds(pool, group)
        // After a broken connection an end that is not found may have been committed by the first try.
        report(group, settled, attempt > 0)
        return
      } catch (error) {
        const fault = databaseFault(error)
        pulse.failed(error)
        if (fault === 'conflict' || fault === 'unavailable') {
          if (fault === 'unavailable') events.emit({ type: 'loop:failed', loop: 'settle', error: error as Error })
          await wait(retryAfterMs[Math.min(attempt, retryAfterMs.length - 1)]! * (0.5 + Math.random()))
        } else if (group.length > 1) {
          for (const end of group) await settleGroup([end])
          return
        } else if (hasEffects(group[0]!)) {
          group[0].effects.refused(error as Error)
          return
        } else {
          await settleRefused(group[0]!, error as Error)
          return
        }
      }
    }
  }

  /** The database refused what this end wants to write: a shorter text, then a fixed one, then it is left to recovery (FAULTS R10). */
  const settleRefused = async (end: End, error: Error): Promise<void> => {
    events.emit({ type: 'loop:failed', loop: 'settle', error })
    for (const text of [redactSecrets(error.message).slice(0, 500), 'The failure could not be recorded.']) {
      const decision = {
        move: 'fail',
        permanent: false,
        delayMs: 0,
        failure: { error: text, name: 'Error', detail: null, fingerprint: 'unrecorded' },
      } as const
      const shorter: End =
        end.move === 'release'
          ? end
          : {
              run: end.run,
              move: 'fail',
              durationMs: end.durationMs,
              decision: end.move === 'fail' ? { ...end.decision, failure: decision.failure } : decision,
              logText: null,
            }
      try {
        report([end], await settleEnds(pool, [shorter]), false)
        return
      } catch (failure) {
        events.emit({ type: 'loop:failed', loop: 'settle', error: failure as Error })
      }
    }
  }

  const settleEnds = async (db: Queryable, group: readonly End[]): Promise<Settled[]> => {
    const ids = group.map((end) => end.run.id)
    const leases = group.map((end) => end.run.claim.lease)
    // Those whose last open jobs all are in this group.
    const ended = claimsOf(group).flatMap(({ claim, ends }) => {
      if (ends < claim.open) return []
      claim.dropping = true
      return [claim.id]
    })
    const settled = await settleMove(db, group, ids, leases, ended)
    if (ended.length > 0 && settled.some((each) => each.lost)) await dropClaims(db, ended)
    const held = group.filter((end, index): end is EndWithEffects => hasEffects(end) && !settled[index]!.lost)
    if (held.length > 0)
      await writeEffects(
        db,
        held.flatMap(({ effects }) => effects.rows),
      )
    return settled
  }

  const settleMove = async (
    db: Queryable,
    group: readonly End[],
    ids: string[],
    leases: string[],
    ended: string[],
  ): Promise<Settled[]> => {
    const first = group[0]!
    if (first.move === 'finish') {
      const ends = group as readonly Finish[]
      const lost = ends.some((end) => end.resultText !== null)
        ? await finishJobsWithResults(
            db,
            plainList(ids),
            plainList(leases),
            worker.id,
            ended,
            ends.map((end) => end.resultText) as string[],
          )
        : await finishJobs(
            db,
            plainList(ids),
            plainList(isOfOneClaim(group) ? leases.slice(0, 1) : leases),
            worker.id,
            ended,
          )
      if (lost.length === 0) return group.map(() => success)
      const lostIds = new Set(lost.map((row) => row.id))
      return ids.map((id) => (lostIds.has(id) ? claimLost : success))
    }
    const rows =
      first.move === 'fail'
        ? await failJobs(
            db,
            ids,
            leases,
            worker.id,
            ended,
            ...failColumns(group as readonly Extract<End, { move: 'fail' }>[]),
          )
        : await releaseJobs(
            db,
            ids,
            leases,
            worker.id,
            ended,
            ...releaseColumns(group as readonly Extract<End, { move: 'release' }>[]),
          )
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ids.map((id) => {
      const row = byId.get(id)
      if (row === undefined) return claimLost
      const outcome =
        row.status === 'failed'
          ? 'stopped'
          : row.status === 'dlq'
            ? 'dlq'
            : first.move === 'fail'
              ? 'retry'
              : 'released'
      return {
        lost: false,
        outcome,
        retryAt: row.status === 'pending' ? row.availableAt : null,
        stop: row.stopCause === null ? null : { cause: row.stopCause, reason: row.stopReason },
      }
    })
  }

  /** Counts down the claims of a group whose end is known, and tells the observers. */
  const report = (group: readonly End[], settled: readonly Settled[], uncertain: boolean): void => {
    const ends: EndFacts[] = []
    const lost: string[] = []
    group.forEach((end, index) => {
      if (!end.run.counted) end.run.claim.open -= 1
      end.run.counted = true
      const how = settled[index]!
      if (how.lost) lost.push(end.run.id)
      // What the database refused to finish has failed.
      else ends.push(end.move === 'finish' && how.outcome === 'success' ? end : factsOf(end, how.outcome, how.retryAt))
    })
    if (ends.length > 0) {
      afterCommit({
        waiting: ends.some((end) => end.retryAt !== null),
        dueAgain: group.some((end) => end.move === 'release' && end.delayMs === 0),
      })
      events.emit({ type: 'jobs:ended', worker: worker.name, ends })
    }
    // Its last ends went in two groups at once: neither knew that it was the last.
    const leftOver = claimsOf(group).filter(({ claim }) => claim.open === 0 && !claim.dropping)
    if (leftOver.length > 0)
      dropClaims(
        pool,
        leftOver.map(({ claim }) => claim.id),
      ).catch((error: Error) => events.emit({ type: 'loop:failed', loop: 'settle', error }))
    if (lost.length > 0 && !uncertain) events.emit({ type: 'lease:lost', worker: worker.name, jobIds: lost })
  }

  return {
    settle(end) {
      queues[end.move].push(end)
      backlog.add()
      if (!flushing) {
        flushing = true
        // The ends of this turn of the event loop share the first statement too.
        setImmediate(() => void flush())
      }
    },
    settleIn: async (tx, end) => (await settleEnds(tx, [end]))[0]!,
    committed: (end, settled, uncertain = false) => report([end], [settled], uncertain),
    pending: backlog.pending,
    below: backlog.below,
    idle: () => backlog.below(0),
  }
}

type EndWithEffects = Finish & { readonly effects: Effects }

function hasEffects(end: End): end is EndWithEffects {
  return end.move === 'finish' && end.effects !== null
}

/**
 * The next ends that may share a statement: of each job one. A run that has lost its claim may end beside the one that has it now, and whose
 * claim is lost is told by the job.
 */
function takeGroup(queue: End[]): End[] {
  const group = queue.splice(0, largestGroup)
  // A claim has a job once.
  if (isOfOneClaim(group)) return group
  const jobs = new Set<string>()
  for (const { run } of group) jobs.add(run.id)
  if (jobs.size === group.length) return group
  const first = group.filter(({ run }) => jobs.delete(run.id))
  const taken = new Set(first)
  queue.unshift(...group.filter((end) => !taken.has(end)))
  return first
}

function isOfOneClaim(group: readonly End[]): boolean {
  const { claim } = group[0]!.run
  return group.every(({ run }) => run.claim === claim)
}

/** The claims of a group, each with how many of its ends there are. */
function claimsOf(group: readonly End[]): { readonly claim: Claim; readonly ends: number }[] {
  const counts = new Map<Claim, number>()
  // Ends of a claim come one after another: the map is looked at once for all that do.
  for (let from = 0; from < group.length;) {
    const { claim } = group[from]!.run
    let to = from + 1
    while (to < group.length && group[to]!.run.claim === claim) to += 1
    counts.set(claim, (counts.get(claim) ?? 0) + to - from)
    from = to
  }
  return [...counts].map(([claim, ends]) => ({ claim, ends }))
}

function failColumns(ends: readonly Extract<End, { move: 'fail' }>[]) {
  return [
    ends.map((end) => end.decision.delayMs),
    ends.map((end) => end.decision.permanent),
    ends.map((end) => end.decision.failure.error),
    ends.map((end) => end.decision.failure.name),
    ends.map((end) => end.decision.failure.detail),
    ends.map((end) => end.decision.failure.fingerprint),
    ends.map((end) => end.logText),
  ] as const
}

function releaseColumns(ends: readonly Extract<End, { move: 'release' }>[]) {
  return [
    ends.map((end) => end.delayMs),
    ends.map((end) => end.unstarted),
    ends.map((end) => end.cause as string),
  ] as const
}

function factsOf(end: End, outcome: EndOutcome, retryAt: Date | null): EndFacts {
  return {
    run: end.run,
    outcome,
    durationMs: end.durationMs,
    error: end.move === 'fail' ? end.decision.failure.error : null,
    retryAt,
    release: end.move === 'release' ? { cause: end.cause, unstarted: end.unstarted } : null,
  }
}
