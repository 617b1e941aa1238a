import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Given } from '../given.ts'
import { serviceEnv, stellwerk } from '../service.ts'
import { untilReady } from './until-ready.ts'

/** `stellwerk api` in a process of its own, ready. */
export async function startApi({
  url,
  folder,
}: Pick<Given, 'url' | 'folder'>): Promise<{ service: ChildProcess; port: number; token: string }> {
  const dataDir = join(folder, 'api')
  const service = spawn(stellwerk, ['api'], {
    env: serviceEnv({
      DATABASE_URL: url,
      PORT: '0',
      STELLWERK_ENV: 'development',
      STELLWERK_DATA_DIR: dataDir,
      STELLWERK_KINDS: fileURLToPath(new URL('stellwerk-kinds.ts', import.meta.url)),
      BENCH_GIVEN: process.env.BENCH_GIVEN!,
    }),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return { service, ...(await untilReady(dataDir)) }
}
