import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { socketFolder } from '../../src/db/socket-folder.ts'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { ask, enqueue, readiness, statusOf } from './ask.ts'
import { watch } from './watch.ts'

// What runs at the end of a test is nobody's loss.
const settings = {
  STELLWERK_SHUTDOWN_MS: '4000',
  STELLWERK_KINDS: fileURLToPath(new URL('../crash/kinds.ts', import.meta.url)),
}

let dataDir: string
let service: Service

const start = async (): Promise<void> => {
  service = startService({ dataDir, settings })
  await service.started()
}
const postmaster = async (): Promise<number> =>
  Number.parseInt(await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8'))
const backends = (parent: number): number[] =>
  execFileSync('ps', ['-o', 'pid=', '--ppid', String(parent)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
    .map(Number)

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk rough '))
  await start()
})
afterAll(async () => {
  await service.stop()
  for (const folder of [dataDir, socketFolder(dataDir)]) await rm(folder, { recursive: true, force: true })
})

test('200 calls at once are all answered', async () => {
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      i % 2 === 0
        ? enqueue(service, 'quick')
        : ask(service, '{ jobs(first: 20) { nodes { id status attemptCount } } }').then(({ text, status }) =>
            status === 200 ? 'read' : text,
          ),
    ),
  )
  expect(answers.filter((answer) => answer === 'read')).toHaveLength(100)
  expect(new Set(answers.filter((answer) => answer.startsWith('job_'))).size).toBe(100)
})

describe('clients', () => {
  test('that send half a request, or garbage, or nothing, keep nobody waiting', async () => {
    const { port } = new URL(await service.url())
    const open = (text: string): Socket =>
      connect(Number(port), '127.0.0.1')
        .on('error', () => {})
        .once('connect', function (this: Socket) {
          this.write(text)
        })
    const beginnings = [
      '',
      'POST /graphql HT',
      'POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"qu',
      'GET /graphql HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
      '\x16\x03\x01\x02\0\x01',
    ]
    const sockets = Array.from({ length: 100 }, (_, i) => open(beginnings[i % beginnings.length]!))
    await until(() => sockets.every((socket) => !socket.connecting), 'all are connected')
    expect((await readiness(service)).status).toBe(200)
    expect((await ask(service, '{ viewer { principal { id } } }')).status).toBe(200)
    for (const socket of sockets) socket.resetAndDestroy()
    expect((await readiness(service)).status).toBe(200)
  })

  test('that ask and leave before the answer harm nobody', async () => {
    const url = `${await service.url()}/graphql`
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${await service.token()}` }
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const call = request(url, { method: 'POST', headers, agent: false }).on('error', () => {})
        call.end('{"query":"{ jobs { nodes { id } } }"}', () => call.destroy())
        await new Promise((resolve) => call.once('close', resolve))
      }),
    )
    expect((await ask(service, '{ viewer { principal { id } } }')).status).toBe(200)
  })

  test('1,000 that watch and leave leave nothing behind', { timeout: 60_000 }, async () => {
    const id = await enqueue(service, 'slow', { ms: 60_000 })
    let seen = 0
    for (let wave = 0; wave < 10; wave++) {
      const watchers = await Promise.all(Array.from({ length: 100 }, () => watch(service, id)))
      await Promise.all(
        watchers.map(async (watcher) => {
          await watcher.next()
          seen += 1
        }),
      )
      for (const watcher of watchers) watcher.leave()
    }
    expect(seen).toBe(1_000)
    await until(
      async () => /^mdm_subscriptions 0$/m.test(await (await fetch(`${await service.url()}/metrics`)).text()),
      'no stream is open',
    )
    expect(service.output()).not.toContain('MaxListenersExceededWarning')
  })
})

describe('the database', () => {
  test('whose process for a session is killed comes back by itself, and so do the workers', async () => {
    const parent = await postmaster()
    const [session] = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(parent)], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => /postgres: .*\[local\]/.test(line))
    const before = backends(parent)
    process.kill(Number.parseInt(session!), 'SIGKILL')
    // The server ends all others and starts anew; until then it may still answer, and be ready, as if nothing had been.
    await until(() => before.every((pid) => !existsSync(`/proc/${pid}`)), 'none of its processes is left', 20_000)
    await until(() => service.said('connection lost') > 0, 'the loss is told', 20_000)
    await until(async () => (await readiness(service)).status === 200, 'it is ready again', 20_000)
    const id = await enqueue(service, 'quick')
    await until(async () => (await statusOf(service, id)) === 'DONE', 'the job is done', 20_000)
    expect(service.runs()).toBe(true)
  })

  test('that hangs is told within 5 s, and waited for', { timeout: 60_000 }, async () => {
    const parent = await postmaster()
    const token = await service.token()
    const frozen = [parent, ...backends(parent)]
    for (const pid of frozen) process.kill(pid, 'SIGSTOP')
    try {
      const asked = performance.now()
      const answers = await Promise.all([
        ask(service, '{ jobs(first: 1) { nodes { id } } }', {}, token),
        ask(service, '{ tenants(first: 1) { nodes { key } } jobKinds { name } }', {}, token),
        ask(
          service,
          'mutation { enqueueJob(input: { job: { custom: { kind: "quick", payload: {} } } }) { outcome } }',
          {},
          token,
        ),
        ask(
          service,
          'mutation { createTenant(input: { key: "frozen", name: "Frozen" }) { tenant { key } } }',
          {},
          token,
        ),
      ])
      expect(performance.now() - asked).toBeLessThan(5_500)
      for (const answer of answers)
        expect(answer, answer.text).toMatchObject({
          status: 503,
          errors: expect.arrayContaining([
            expect.objectContaining({ extensions: expect.objectContaining({ code: 'SERVICE_UNAVAILABLE' }) }),
          ]),
        })
      expect(await readiness(service)).toMatchObject({ status: 503 })
    } finally {
      for (const pid of frozen) process.kill(pid, 'SIGCONT')
    }
    await until(async () => (await readiness(service)).status === 200, 'it is ready again', 20_000)
    const id = await enqueue(service, 'quick')
    await until(async () => (await statusOf(service, id)) === 'DONE', 'the job is done', 20_000)
  })
})

test(
  'a stream that breaks because the service is killed goes on after the last cursor',
  { timeout: 60_000 },
  async () => {
    const id = await enqueue(service, 'slow', { ms: 3_000 })
    const first = await watch(service, id)
    const seen: string[] = []
    let cursor: string | null = null
    for (let status = ''; status !== 'RUNNING';) {
      const update = (await first.next())!
      status = update.job!.status
      cursor = update.cursor
      seen.push(update.event?.type ?? update.type)
    }
    service.signal('SIGKILL')
    await service.exited
    expect(await first.next()).toBeNull()
    expect(first.completed()).toBe(false)

    await start()
    // It need not wait out the ten seconds over which recovered jobs are spread.
    const client = new Client({ connectionString: (await readFile(join(dataDir, 'database.url'), 'utf8')).trim() })
    await client.connect()
    await client.query(
      `update mdm.aa_job set available_at = now(), deferred = false where lane = 1; select pg_notify('mdm_wakeup', '')`,
    )
    await client.end()
    const second = await watch(service, id, cursor)
    for (let update = await second.next(); update !== null; update = await second.next())
      if (update.type !== 'PROGRESS') seen.push(update.event?.type ?? update.type)
    expect(second.completed()).toBe(true)
    const { data } = await ask(
      service,
      'query ($id: ID!) { job(id: $id) { status events(first: 50) { nodes { type revision } } } }',
      { id },
    )
    expect(data.job.status).toBe('DONE')
    const history = data.job.events.nodes.map((event: { type: string }) => event.type)
    // From the snapshot on, each event once: none is lost and none comes twice.
    expect(seen.filter((type) => type !== 'SNAPSHOT')).toEqual(
      history.slice(-seen.filter((type) => type !== 'SNAPSHOT').length),
    )
    expect(seen).toContain('RECOVERED')
    expect(seen.at(-1)).toBe('SUCCEEDED')
  },
)
