import { setTimeout as wait } from 'node:timers/promises'
import { readIndexProgress, type IndexProgress } from '../../../sql/read-index-progress.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { HandlerContext, ProgressReport } from '../../handler.ts'

const lookEveryMs = 1_000

/** Reports how far the session's build is, and whom it waits for, until `stop`. */
export function watchBuild(
  db: Queryable,
  pid: number,
  progress: HandlerContext<unknown>['progress'],
): { stop(): Promise<void> } {
  const ended = new AbortController()
  const look = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await wait(lookEveryMs, undefined, { signal: ended.signal }).catch(() => undefined)
      if (ended.signal.aborted) return
      // A look that fails is no reason to end the build.
      const [row] = await readIndexProgress(db, pid).catch(() => [])
      if (row !== undefined) await progress(reportOf(row)).catch(() => undefined)
    }
  }
  const looking = look()
  return {
    async stop() {
      ended.abort()
      await looking
    },
  }
}

/** Where a phase lies in the whole, in per cent, and by what it is measured. */
const phases: readonly (readonly [name: string, from: number, to: number, by: 'blocks' | 'tuples' | null])[] = [
  ['waiting for writers before build', 0, 0, null],
  ['building index: scanning table', 0, 40, 'blocks'],
  ['building index: sorting', 40, 45, null],
  ['building index: loading tuples', 45, 70, 'tuples'],
  ['building index', 0, 70, 'blocks'],
  ['waiting for writers before validation', 70, 70, null],
  ['index validation: scanning index', 70, 80, 'blocks'],
  ['index validation: sorting', 80, 85, null],
  ['index validation: scanning table', 85, 95, 'blocks'],
  ['waiting for old snapshots', 95, 95, null],
  ['dropping', 95, 95, null],
]

/** One look at the catalogue as people read it. */
export function reportOf({ phase, waitsFor, ...counts }: IndexProgress): ProgressReport {
  const [, from, to, by] = phases.find(([name]) => phase.startsWith(name)) ?? [phase, 0, 0, null]
  const [done, total] =
    by === 'blocks'
      ? [counts.blocksDone, counts.blocksTotal]
      : by === 'tuples'
        ? [counts.tuplesDone, counts.tuplesTotal]
        : [0, 0]
  const share = total > 0 ? Math.min(done / total, 1) : 0
  const waiting =
    waitsFor === null
      ? ''
      : `; waits for the transaction of session ${waitsFor.pid} (${waitsFor.application || 'unnamed'}), open for ${waitsFor.seconds} s`
  return {
    done: Math.round(from + (to - from) * share),
    total: 100,
    message: `${phase}${waiting}`,
    data: { phase, waitsFor },
  }
}
