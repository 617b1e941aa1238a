import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** Where a service that was just started answers, and its development token; the step's own time limit ends the wait. */
export async function untilReady(dataDir: string): Promise<{ port: number; token: string }> {
  for (;;) {
    await wait(50)
    try {
      const { port } = JSON.parse(await readFile(join(dataDir, 'run.json'), 'utf8')) as { port: number | null }
      const ready = await fetch(`http://127.0.0.1:${port}/ready`)
      if (ready.ok) return { port: port!, token: (await readFile(join(dataDir, 'admin.token'), 'utf8')).trim() }
    } catch {
      // Not there yet.
    }
  }
}
