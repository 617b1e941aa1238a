import { startWorkers } from '../kinds/support.ts'

/** A process that reads documents and sends mail, for tests that kill it: database, data directory, provider, and the program that recognises text. */
const [url, dataDir, smtpUrl, tesseract] = process.argv.slice(2) as [string, string, string, string]
await startWorkers(
  { url },
  {
    dataDir,
    slots: 2,
    kinds: ['document_process', 'email_send'],
    env: { SMTP_URL: smtpUrl, TESSERACT_BIN: tesseract },
  },
)
process.stdout.write('ready\n')
