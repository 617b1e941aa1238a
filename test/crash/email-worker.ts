import { startWorkers } from '../kinds/support.ts'

/** A process with workers, for tests that kill it: its arguments are database, data directory and provider. */
const [url, dataDir, smtpUrl] = process.argv.slice(2) as [string, string, string]
await startWorkers({ url }, { dataDir, slots: 1, env: { SMTP_URL: smtpUrl } })
process.stdout.write('ready\n')
