import { Snooze } from '../../../jobs/errors.ts'
import type { BulkImportPayload } from '../../../jobs/bulk-import-payload.ts'
import type { BegunImport } from '../../../sql/begin-import.ts'
import { holdImport } from '../../../sql/hold-import.ts'
import type { ImportStatus } from '../../../sql/import-row.ts'
import type { Queryable } from '../../../sql/statement.ts'
import type { HandlerContext } from '../../handler.ts'
import { statementsIn } from '../statements-in.ts'

/** One slice of an import's work. */
export interface ImportRun {
  readonly context: HandlerContext<BulkImportPayload>
  readonly begun: BegunImport
  readonly pace: { readonly stageRows: number; readonly validateRows: number; readonly commitRows: number }
  /**
   * One batch: a transaction that holds the job and the import, which is still in this status; else nothing is done and ImportMovedOn
   * is thrown. After it the slice may be over: then Snooze gives the slot to others.
   */
  batch<T>(status: ImportStatus, work: (db: Queryable, lastRow: number) => Promise<T>): Promise<T>
  /** Ends the slice where its time is up. */
  rest(): void
  report(phase: ImportPhase, share: number, rows: number): Promise<void>
}

/** Another run of it, or a person, was faster: what comes next is read anew. */
export class ImportMovedOn extends Error {
  override readonly name = 'ImportMovedOn'
}

/** The way of an import, and which part of the whole each phase is: reading 30 of 100, and so on. */
const phases = {
  staging: { from: 0, to: 30, verb: 'Read' },
  validating: { from: 30, to: 55, verb: 'Checked' },
  committing: { from: 55, to: 95, verb: 'Committed' },
  reporting: { from: 95, to: 100, verb: 'Wrote the outcome of' },
} as const

export type ImportPhase = keyof typeof phases

interface ImportRunOptions {
  /** Monotonic milliseconds. */
  readonly endsAt: number
  readonly pace: ImportRun['pace']
}

/** At least so long until others had their turn. */
const restMs = 100

export function createImportRun(
  context: HandlerContext<BulkImportPayload>,
  begun: BegunImport,
  { endsAt, pace }: ImportRunOptions,
): ImportRun {
  let done = 0
  return {
    context,
    begun,
    pace,
    async batch(status, work) {
      context.signal.throwIfAborted()
      return context.transaction(async (tx) => {
        const db = statementsIn(tx)
        const [held] = await holdImport(db, begun.id)
        if (held?.status !== status) throw new ImportMovedOn()
        return work(db, held.lastRow)
      })
    },
    rest() {
      context.signal.throwIfAborted()
      if (performance.now() > endsAt) throw new Snooze(restMs)
    },
    async report(phase, share, rows) {
      const { from, to, verb } = phases[phase]
      done = Math.max(done, Math.floor(from + (to - from) * Math.min(share, 1)))
      const of = begun.totalRows === null ? '' : ` of ${begun.totalRows.toLocaleString('en')}`
      await context.progress({
        done,
        total: 100,
        message: `${verb} ${rows.toLocaleString('en')}${of} rows`,
        data: { phase, rows, totalRows: begun.totalRows },
      })
    },
  }
}
