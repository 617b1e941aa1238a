import { spawn, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { until } from '../support/until.ts'
import { outboxOf, quickRetries, reachesLoopback } from './outbox-support.ts'
import { startWorkers, type Workers } from './support.ts'

// The receivers that docs/webhooks.md shows, run as they stand there.

const page = await readFile(new URL('../../docs/webhooks.md', import.meta.url), 'utf8')
const example = (language: string): string => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\n\`\`\``).exec(page)![1]!
const hasPython = spawnSync('python3', ['-c', 'pass']).status === 0

let database: TestDatabase
let outbox: ReturnType<typeof outboxOf>
let workers: Workers
beforeAll(async () => {
  database = await testDatabase()
  outbox = outboxOf(database)
  workers = await startWorkers(database, {
    env: { ...reachesLoopback, STELLWERK_KIND_OUTBOX_DISPATCH: quickRetries },
  })
})
afterAll(async () => {
  await workers?.stop()
  await database?.drop()
})

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => {
    server.close(resolve)
  })
  return port
}

/** Runs the example; answers what it has printed so far. */
function run(command: string, args: readonly string[], secret: string, port: number): () => string {
  const { PATH, HOME } = process.env
  const child = spawn(command, args, {
    env: { PATH, HOME, WEBHOOK_SECRET: secret, PORT: String(port) } as unknown as NodeJS.ProcessEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  stops.push(() => child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (said += part))
  return () => said
}

/** What it answered to a genuine request and to a forged one, and whether it told of the forged one. */
async function receives(command: string, args: readonly string[]) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const type = `order.${crypto.randomUUID()}`
  const endpoint = await outbox.endpoint(url, { eventTypes: [type] })
  const said = run(command, args, endpoint.secret, port)
  await until(
    () =>
      fetch(url, { method: 'POST' }).then(
        ({ status }) => status === 401,
        () => false,
      ),
    'it listens',
  )
  await outbox.publish(type, { text: 'Größe' })
  const [delivery] = await outbox.reached(endpoint, ['delivered'])
  await until(() => said().includes(type), 'it has printed the type')
  // What somebody else signs is refused.
  const forged = await outbox.endpoint(url, { eventTypes: [`${type}.forged`] })
  await outbox.publish(`${type}.forged`)
  const refused = await until(
    async () => (await outbox.deliveries(forged)).find(({ attempts }) => attempts > 0),
    'the forged one is refused',
  )
  await outbox.clear()
  return { genuine: delivery!.lastStatus, forged: refused.lastStatus, toldForged: said().includes('forged') }
}

const asItShould = { genuine: 204, forged: 401, toldForged: false }

test('the example for Node verifies what is sent, and nothing else', async () => {
  expect(await receives(process.execPath, ['--input-type=module', '--eval', example('js')])).toEqual(asItShould)
})

describe('the example for Python', () => {
  if (!hasPython && process.env['CI'] !== 'true') {
    leaveOut('there is no python3 here')
    return
  }
  test('verifies what is sent, and nothing else', async () => {
    expect(await receives('python3', ['-c', example('python')])).toEqual(asItShould)
  })
})
