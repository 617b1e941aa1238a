import { setTimeout as wait } from 'node:timers/promises'
import { fullReading } from '../../src/jobs/document-limits.ts'
import { runReader } from '../../src/workers/handlers/documents/run-reader.ts'

/** Has a document read where no process can be started, and says why it was not. An error that nobody hears ends it, as it would the service. */
process.execPath = '/nothing'
const tools = { tesseract: null, pdftoppm: null, tesseractVersion: null, languages: [], dataFolder: '/nothing' }
const order = { path: '/nothing', folder: '/nothing', type: 'text/plain', terms: fullReading, tools } as const
await runReader(order, { signal: AbortSignal.timeout(10_000), onPage: () => undefined }).catch((error: Error) =>
  process.stdout.write(error.message),
)
await wait(200)
