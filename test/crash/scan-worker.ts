import { startWorkers } from '../kinds/support.ts'

/** A process that scans, for tests that kill it: its arguments are database, data directory and scanner. */
const [url, dataDir, clamdUrl] = process.argv.slice(2) as [string, string, string]
await startWorkers(
  { url },
  {
    dataDir,
    kinds: ['virus_scan'],
    env: {
      CLAMD_URL: clamdUrl,
      STELLWERK_KIND_VIRUS_SCAN: '{"maxAttempts": 100, "backoff": {"baseMs": 50, "maxMs": 200, "jitter": 0.1}}',
    },
  },
)
process.stdout.write('ready\n')
