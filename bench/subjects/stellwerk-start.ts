import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runStep } from '../step.ts'
import { untilReady } from './until-ready.ts'

// `stellwerk start` on its embedded database, until /ready says yes.

await runStep({
  async prepare({ folder, options }) {
    if (options.again === undefined) return
    const service = start(folder)
    await untilReady(join(folder, 'data'))
    service.kill('SIGTERM')
    await once(service, 'exit')
  },
  async measure({ folder }) {
    const begun = performance.now()
    const service = start(folder)
    await untilReady(join(folder, 'data'))
    const readyMs = performance.now() - begun
    const rssMb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))![1]) / 1024
    const stopping = performance.now()
    service.kill('SIGTERM')
    await once(service, 'exit')
    return { readyMs, stopMs: performance.now() - stopping, rssMb }
  },
  async check() {},
})

function start(folder: string) {
  return spawn(process.execPath, [fileURLToPath(new URL('../../src/cli.ts', import.meta.url)), 'start'], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      STELLWERK_DATA_DIR: join(folder, 'data'),
    } as NodeJS.ProcessEnv,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}
