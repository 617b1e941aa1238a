import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Given } from '../given.ts'
import { serviceEnv, stellwerk } from '../service.ts'
import { untilReady } from './until-ready.ts'

/** `stellwerk api` or `stellwerk worker` in a process of its own, ready; `kinds` is a module of this folder. */
export async function startService(
  command: 'api' | 'worker',
  kinds: string,
  { url, folder }: Pick<Given, 'url' | 'folder'>,
): Promise<{ service: ChildProcess; port: number; token: string }> {
  const dataDir = join(folder, command)
  const service = spawn(stellwerk, [command], {
    env: serviceEnv({
      DATABASE_URL: url,
      PORT: '0',
      STELLWERK_ENV: 'development',
      STELLWERK_DATA_DIR: dataDir,
      STELLWERK_KINDS: fileURLToPath(new URL(kinds, import.meta.url)),
      BENCH_GIVEN: process.env.BENCH_GIVEN!,
    }),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  return { service, ...(await untilReady(dataDir)) }
}
