import { Worker } from 'node:worker_threads'
import { DocumentError } from '../../../jobs/document-error.ts'
import { endGroup } from './end-group.ts'
import { readImage } from './read-image.ts'
import { readPdf } from './read-pdf.ts'
import { readPlainText } from './read-plain-text.ts'
import type { ReaderMessage, Reading, ReadingOrder } from './reader-protocol.ts'

// A process of its own for one document: what hangs, runs out of memory or crashes here costs nobody else anything.

const tell = (message: ReaderMessage, told?: () => void): void =>
  void process.send?.(message, undefined, undefined, told)

const watchdog = new Worker(new URL('reader-watchdog.ts', import.meta.url), { workerData: process.ppid })
watchdog.unref()

process.once('disconnect', endGroup)
process.once('message', (order: ReadingOrder) => {
  read(order).then(
    (reading) => finish({ type: 'read', reading }),
    (error: unknown) =>
      finish(
        error instanceof DocumentError
          ? { type: 'refused', code: error.code, message: error.message }
          : { type: 'failed', message: error instanceof Error ? error.message : String(error) },
      ),
  )
})

async function read(order: ReadingOrder): Promise<Reading> {
  const onPage = (done: number, total: number): void => tell({ type: 'page', done, total })
  switch (order.type) {
    case 'application/pdf':
      return readPdf(order, onPage)
    case 'text/plain':
      return readPlainText(order)
    default:
      return readImage(order, onPage)
  }
}

function finish(message: ReaderMessage): void {
  tell(message, () => process.exit())
}
