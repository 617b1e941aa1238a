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
  readonly onSaved: () => void
  readonly onLost: () => void
  readonly onStop: () => void
}

const writeEveryMs = 1_000
const progressBytes = 8 * 1024

/** Keeps the latest progress report of a run on its row, at most once a second. */
export function createProgressWriter({ pool, run, onSaved, onLost, onStop }: ProgressDeps): ProgressWriter {
  let latest: string | undefined
  let writtenAt = -Infinity
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  const writeNext = (): Promise<void> => (writing = writing.then(write))

  const write = async (): Promise<void> => {
    const text = latest
    if (text === undefined) return
    latest = undefined
    writtenAt = performance.now()
    try {
      const [held] = await saveProgress(pool, run.id, run.claim.lease, text)
      if (held === undefined) onLost()
      else if (held.stopRequested) onStop()
      onSaved()
    } catch {
      // Progress is a courtesy: the job goes on, the next report is written again.
      latest ??= text
    }
  }

  return {
    async report(report) {
      const text = JSON.stringify({
        done: report.done,
        total: report.total,
        message: report.message?.slice(0, 500),
        data: report.data,
      })
      if (Buffer.byteLength(text) > progressBytes)
        throw new RangeError(`A progress report has at most ${progressBytes} bytes of JSON.`)
      latest = text
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
