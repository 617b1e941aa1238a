import { startWorkers, type WorkersOptions } from '../kinds/support.ts'

/** A process with workers, for tests that kill it: its arguments are the database, and what the workers are started with. */
const [url, options] = process.argv.slice(2) as [string, string]
await startWorkers({ url }, JSON.parse(options) as WorkersOptions)
process.stdout.write('ready\n')
