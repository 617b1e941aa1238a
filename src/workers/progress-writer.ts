import type { ProgressHint } from '../events/progress-hint.ts'
import { saveProgress } from '../sql/save-progress.ts'
import type { Queryable } from '../sql/statement.ts'
import type { ProgressReport } from './handler.ts'
import type { Run } from './run.ts'

export interface ProgressWriter {
  report(report: ProgressReport): Promise<void>
  /** Writes what is not written yet: the latest report is never lost. */
  finish(): Promise<void>
}

interface ProgressDeps {
  readonly pool: Queryable
  readonly run: Run
  /** Told of each report at once, and without its text of what was written: who had no room for the text finds it there. */
  readonly onReport: (hint: ProgressHint) => void
  readonly onSaved: () => void
  readonly onLost: () => void
  readonly onStop: () => void
}

const writeEveryMs = 1_000
const progressBytes = 8 * 1024

/** Tells each progress report of a run, and keeps the latest on its row, at most once a second. */
export function createProgressWriter({ pool, run, onReport, onSaved, onLost, onStop }: ProgressDeps): ProgressWriter {
  let latest: { readonly text: string; readonly report: number } | undefined
  let reports = 0
  let writtenAt = -Infinity
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const hint = (report: number, text: string | null): void =>
    onReport({ jobId: run.id, claimedMs: run.claimedMs, report, at: Date.now(), text })

  const writeNext = (): Promise<void> => (writing = writing.then(write))

  const write = async (): Promise<void> => {
    const written = latest
    if (written === undefined) return
    latest = undefined
    writtenAt = performance.now()
    try {
      const [held] = await saveProgress(pool, run.id, run.claim.lease, written.text)
      if (held === undefined) onLost()
      else if (held.stopRequested) onStop()
      hint(written.report, null)
      onSaved()
    } catch {
      // Progress is a courtesy: the job goes on, the next report is written again.
      latest ??= written
    }
  }

  return {
    async report({ done, total, message, data }) {
      const report = (reports += 1)
      const text = JSON.stringify({ done, total, message: message?.slice(0, 500), data, report })
      if (Buffer.byteLength(text) > progressBytes)
        throw new RangeError(`A progress report has at most ${progressBytes} bytes of JSON.`)
      latest = { text, report }
      hint(report, text)
      const due = writtenAt + writeEveryMs - performance.now()
      if (due <= 0) return writeNext()
      timer ??= setTimeout(() => {
        timer = undefined
        void writeNext()
      }, due)
    },
    finish() {
      clearTimeout(timer)
      return writeNext()
    },
  }
}
