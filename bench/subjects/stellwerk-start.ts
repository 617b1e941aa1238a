import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serviceEnv, stellwerk } from '../service.ts'
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
  return spawn(stellwerk, ['start'], {
    env: serviceEnv({ PORT: '0', STELLWERK_DATA_DIR: join(folder, 'data') }),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}
