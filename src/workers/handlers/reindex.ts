import { setTimeout as wait } from 'node:timers/promises'
import type { ReindexPayload } from '../../jobs/entity-payloads.ts'
import { NeverRetry, Snooze } from '../../jobs/errors.ts'
import { areEntitiesBloated } from '../../sql/are-entities-bloated.ts'
import { awaitWriters } from '../../sql/await-writers.ts'
import { beginReindex } from '../../sql/begin-reindex.ts'
import { countStaleEntities } from '../../sql/count-stale-entities.ts'
import { endReindex } from '../../sql/end-reindex.ts'
import { findEntityType } from '../../sql/find-entity-type.ts'
import { journalWork } from '../../sql/journal-work.ts'
import { raiseSearchVersion } from '../../sql/raise-search-version.ts'
import { readReindexRun, type ReindexRun } from '../../sql/read-reindex-run.ts'
import { reindexBatch } from '../../sql/reindex-batch.ts'
import type { Queryable } from '../../sql/statement.ts'
import type { Handler, HandlerContext, HandlerResult } from '../handler.ts'
import { createPace } from './import/pace.ts'
import { statementsIn } from './statements-in.ts'

export interface ReindexDeps {
  readonly db: Queryable
  readonly batch?: number
  readonly sliceMs?: number
  readonly writersAgainMs?: number
}

/** 1,000 took 423 ms at worst, 5,000 twice that for a fourteenth more speed. Fewer at first, and wherever a row costs more. */
const standardBatch = 1_000
const firstBatch = 100
const aimMs = 250
const standardSliceMs = 30_000
const standardWritersAgainMs = 2_000
/** A dump may take hours. */
const mostWritersAgainMs = 60_000
const restEvery = 10
const restMs = 50

/**
 * Brings the entities of a type to a version of its search configuration, batch by batch. Each batch commits with the place reached, under the
 * fence: whoever goes on after a crash repeats nothing. A newer version of the type has a job of its own: then this one ends.
 */
export function createReindex({
  db,
  batch = standardBatch,
  sliceMs = standardSliceMs,
  writersAgainMs = standardWritersAgainMs,
}: ReindexDeps): Handler<ReindexPayload> {
  return async (context) => {
    const { job, signal, progress } = context
    const run = (await readReindexRun(db, job.id))[0] ?? (await begin(db, context))
    if (run === null) return { result: { gone: true } }
    const { total, typeId, targetVersion } = run
    let { waitsFor } = run
    const pace = createPace({ start: firstBatch, max: batch, aimMs })
    const sliceEnds = performance.now() + sliceMs
    for (let batches = 1; ; batches += 1) {
      signal.throwIfAborted()
      const begun = performance.now()
      const [row] = await context.transaction((tx) => reindexBatch(statementsIn(tx), job.id, job.tenantId, pace.size()))
      pace.took(performance.now() - begun)
      const { taken, done, vectors, ended } = row!
      const facts = { entity_type_id: typeId, version: targetVersion, entities: done, vectors }
      if (taken === null) return over(context, { superseded: true, ...facts })
      await progress({ done, total: Math.max(total, done), message: `Search version ${targetVersion}` })
      if (ended) {
        if (waitsFor.length === 0) return over(context, facts)
        await awaitFormerWriters(context, done, total)
        waitsFor = []
        continue
      }
      if (performance.now() > sliceEnds) throw new Snooze(0)
      if (batches % restEvery === 0 && (await areEntitiesBloated(db))[0]!.bloated)
        await wait(restMs, undefined, { signal })
    }
  }

  /** Whose transaction is older than the run may commit entities of the former configuration, behind the place reached. Resolves when all have ended: one more pass follows. */
  async function awaitFormerWriters(
    { job, transaction, progress }: HandlerContext<ReindexPayload>,
    done: number,
    total: number,
  ): Promise<void> {
    const [writers] = await transaction((tx) => awaitWriters(statementsIn(tx), job.id))
    const { waitsFor, pids, sinceMs } = writers!
    if (waitsFor.length === 0) return
    await progress({
      done,
      total: Math.max(total, done),
      message: `Waits for transactions that are older than it: sessions ${pids.join(', ')}`,
    })
    throw new Snooze(Math.min(Math.max(writersAgainMs, sinceMs / 10), mostWritersAgainMs))
  }
}

/** Null: there is nothing to do any more. */
async function begin(
  db: Queryable,
  { payload, job, transaction }: HandlerContext<ReindexPayload>,
): Promise<ReindexRun | null> {
  const { entity_type_id: id = null, type_key: key = null } = payload
  const [type] = await findEntityType(db, id, job.tenantId, key)
  if (type === undefined) {
    if (id !== null) return null
    throw new NeverRetry(`There is no entity type ${key} in the job's tenant.`)
  }
  // Counted outside of the transaction: on a large type it takes a second.
  const [stale] = await countStaleEntities(db, job.tenantId, type.id, payload.target_version ?? 2_147_483_647)
  const targetVersion = payload.target_version ?? (await takeVersion(transaction, type.id))
  if (targetVersion === null) return null
  const total = stale!.count
  // The version is committed by now: who is not among those noted here writes by it.
  await transaction((tx) => beginReindex(statementsIn(tx), job.id, type.id, targetVersion, total))
  // Most have ended before the first batch, and ask for no second pass.
  const [writers] = await transaction((tx) => awaitWriters(statementsIn(tx), job.id))
  return { typeId: type.id, targetVersion, done: 0, vectors: 0, total, waitsFor: writers!.waitsFor }
}

/** The type's next version, for this job; null: the type is gone. */
function takeVersion(
  transaction: HandlerContext<ReindexPayload>['transaction'],
  typeId: string,
): Promise<number | null> {
  return transaction(async (tx) => {
    // The trigger would enqueue another job for it.
    await tx.query(`select set_config('stellwerk.reindexing', 'on', true)`)
    return (await raiseSearchVersion(statementsIn(tx), typeId))[0]?.searchVersion ?? null
  })
}

function over(
  { job, payload: { reason } }: HandlerContext<ReindexPayload>,
  facts: Readonly<Record<string, unknown>>,
): HandlerResult {
  return {
    result: facts,
    commit: async (tx) => {
      const db = statementsIn(tx)
      await endReindex(db, job.id)
      if (facts.superseded !== true) await journalWork(db, job.id, 'reindex_done', JSON.stringify({ ...facts, reason }))
    },
  }
}
