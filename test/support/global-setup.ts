import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startTestServer, sweepTestServers, type TestServer } from './test-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A socket on which `GET /18` and `GET /16` answer the URL of a server of that age, started when first asked for. */
    testServers: string
  }
}

/** Offers test files PostgreSQL servers that live as long as the run. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await sweepTestServers()
  const servers = new Map<string, Promise<TestServer>>()
  const started: TestServer[] = []
  const start = async (major: 16 | 18) => {
    const server = await startTestServer(major)
    started.push(server)
    return server
  }
  const offer = createServer((request, response) => {
    const major = request.url === '/16' ? 16 : 18
    const server = servers.get(String(major)) ?? start(major)
    servers.set(String(major), server)
    server.then(
      ({ url }) => response.end(url),
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  const folder = await mkdtemp(join(tmpdir(), 'stellwerk-offer-'))
  const socket = join(folder, 'servers')
  await once(offer.listen(socket), 'listening')
  project.provide('testServers', socket)
  endWithProcess(started)
  return async () => {
    offer.closeAllConnections()
    offer.close()
    await Promise.allSettled(servers.values())
    await Promise.all(started.map((server) => server.stop()))
    await rm(folder, { recursive: true, force: true })
  }
}

/** The servers have process groups of their own: a run that is broken off must take them along itself. */
function endWithProcess(started: readonly TestServer[]): void {
  process.once('exit', () => started.forEach((server) => server.killNow()))
  process.once('SIGTERM', () => process.exit(143))
}
