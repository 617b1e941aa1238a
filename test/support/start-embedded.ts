import { startEmbedded } from '../../src/db/embedded.ts'

/** A process that owns an embedded PostgreSQL: prints its URL, and stops it cleanly when its input ends. */
const [dataDir, native] = process.argv.slice(2)
try {
  const binaries = native ? { binaries: { folder: native, version: '18.4' } } : {}
  const embedded = await startEmbedded({
    dataDir: dataDir as string,
    ...binaries,
    settings: { shared_buffers: '16MB', fsync: 'off' },
  })
  tell({ url: embedded.url, pid: embedded.pid })
  for await (const _ of process.stdin);
  await embedded.stop()
} catch (error) {
  tell({ error: (error as Error).message })
  process.exitCode = 1
}

function tell(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
