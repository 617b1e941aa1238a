import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { commandLine } from '../../src/db/process-facts.ts'
import { socketFolder } from '../../src/db/socket-folder.ts'
import { seededRandom } from '../support/random.ts'
import { runService, startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { ask, enqueue, readiness, statusOf } from './ask.ts'

const kinds = fileURLToPath(new URL('../crash/kinds.ts', import.meta.url))

// A data directory that was started once; copies of it spare most tests the seconds of a first start.
let made: string
let home: string
let dataDir: string
const services: Service[] = []

function start(settings: Readonly<Record<string, string>> = {}, at = dataDir): Service {
  const service = startService({ dataDir: at, settings })
  services.push(service)
  return service
}

async function started(settings: Readonly<Record<string, string>> = {}): Promise<Service> {
  const service = start(settings)
  await service.started()
  return service
}

/** Lays down what a service leaves that was started and stopped there. */
function haveData(): void {
  expect(spawnSync('cp', ['-a', made, dataDir]).status).toBe(0)
}

/** The number of the server on a data directory, or null where none runs. */
async function postmaster(at = dataDir): Promise<number | null> {
  const pid = Number.parseInt(await readFile(join(at, 'postgres/postmaster.pid'), 'utf8').catch(() => ''))
  return Number.isNaN(pid) || !commandLine(pid).includes(at) ? null : pid
}

async function kill(service: Service): Promise<void> {
  service.signal('SIGKILL')
  await service.exited
}

async function leftovers(at: string): Promise<void> {
  const pid = await postmaster(at)
  if (pid !== null) process.kill(pid, 'SIGQUIT')
  for (const folder of [at, socketFolder(at)]) await rm(folder, { recursive: true, force: true, maxRetries: 20 })
}

beforeAll(async () => {
  made = await mkdtemp(join(tmpdir(), 'stellwerk start '))
})
afterAll(async () => {
  for (const service of services) await kill(service)
  await leftovers(made)
})

test('a first start is ready, what it prints works, and SIGTERM ends it and its database', async () => {
  const service = start({}, made)
  await service.started()
  expect(await readiness(service)).toMatchObject({ status: 200, reasons: [] })

  const [send, watch] = service
    .output()
    .split('\n')
    .filter((line) => /^(curl|JOB=)/.test(line)) as [string, string]
  const shell = async (line: string): Promise<string> =>
    (await promisify(execFile)('bash', ['-c', line], { timeout: 20_000 })).stdout
  expect(JSON.parse(await shell(send))).toMatchObject({ data: { enqueueJob: { outcome: 'CREATED', errors: [] } } })
  const mailbox = /curl (\S+\/dev\/mailbox)/.exec(service.output())![1]!
  await until(async () => ((await (await fetch(mailbox)).json()) as unknown[]).length > 0, 'the mail is there')
  const stream = await shell(watch)
  expect([...stream.matchAll(/"status":"(\w+)"/g)].map(([, status]) => status)).toEqual(['PENDING', 'RUNNING', 'DONE'])
  expect(stream).toMatch(/event: complete\ndata:\s*$/)

  expect(await service.stop()).toMatchObject({ code: 0, signal: null })
  expect(await postmaster(made)).toBeNull()
  expect(await readdir(made)).not.toContain('run.json')
  // What stands in a terminal's history: no secret.
  expect(service.output()).not.toContain(await service.token())
})

describe('on a data directory that is already there', () => {
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'stellwerk start '))
    dataDir = join(home, "Ada's data")
    haveData()
  })
  afterEach(async () => {
    for (const service of services.splice(0)) await kill(service)
    await leftovers(dataDir)
    await rm(home, { recursive: true })
  })

  test('rows are kept, the token is kept, and a second process is refused and told who runs there', async () => {
    const token = await readFile(join(dataDir, 'admin.token'), 'utf8')
    const service = await started()
    const { data } = await ask(service, '{ jobs(filter: { kind: ["email_send"] }) { nodes { status } } }')
    expect(data.jobs.nodes).toEqual([{ status: 'DONE' }, { status: 'DONE' }])
    expect(await service.token()).toBe(token.trim())

    const second = await runService({ dataDir })
    expect(second).toMatchObject({ code: 1, output: expect.stringContaining(`is in use by process ${service.pid}`) })
    expect(second.output).toContain(`Stop that process (kill ${service.pid}), or set STELLWERK_DATA_DIR`)
    expect((await readiness(service)).status).toBe(200)

    const status = await runService({ args: ['migrate', '--status'], dataDir })
    expect(status).toMatchObject({ code: 0, output: expect.stringMatching(/^0001_jobs +applied +2/) })
  })

  test('O04: a taken port is named with the way out, and nothing is left running', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    try {
      const service = start({ PORT: String(port) })
      expect(await service.exited).toMatchObject({ code: 1 })
      expect(service.output()).toContain(`Port ${port} at 127.0.0.1 is taken by another process.`)
      expect(service.output()).toContain('PORT=<number>; PORT=0 takes any free one.')
      expect(service.output()).not.toContain('    at ')
      expect(await postmaster()).toBeNull()
      expect(await readdir(dataDir)).not.toContain('run.json')
    } finally {
      other.close()
    }
  })

  test('O04: after kill -9 its orphaned server is taken over, rows are kept, and the job in hand runs again', async () => {
    const settings = { STELLWERK_KINDS: kinds }
    const first = await started(settings)
    const id = await enqueue(first, 'slow', { ms: 1_500 })
    await until(async () => (await statusOf(first, id)) === 'RUNNING', 'the job runs')
    await kill(first)
    const orphan = await postmaster()
    expect(orphan).not.toBeNull()

    const second = await started(settings)
    expect(await postmaster()).not.toBe(orphan)
    // At once, not after the 30 s in which a silent instance counts as dead; spread over the first 10 s.
    await until(async () => (await statusOf(second, id)) === 'DONE', 'the job is done', 20_000)
  })

  test('SIGTERM in the middle of the start ends it with 0 and leaves nothing running', async () => {
    const service = start()
    await until(async () => (await readdir(dataDir)).includes('run.json'), 'it has begun')
    expect(await service.stop()).toMatchObject({ code: 0, signal: null })
    expect(await postmaster()).toBeNull()
    expect(service.output()).not.toContain('"level":"error"')
  })

  test('Ctrl-C that npm hands on once more is one; a second one, later, ends a stop that takes long', async () => {
    const settings = { STELLWERK_KINDS: kinds }
    const twice = await started(settings)
    twice.signal('SIGINT')
    twice.signal('SIGINT')
    expect(await twice.exited).toMatchObject({ code: 0, signal: null })

    const stubborn = await started(settings)
    await enqueue(stubborn, 'stubborn', { ms: 60_000 })
    // Not by its status: the claim's answer may still be on its way, and then goes back unstarted.
    await until(() => stubborn.said('I run') > 0, 'the job runs')
    stubborn.signal('SIGINT')
    await delay(1_200)
    expect(stubborn.runs(), stubborn.output()).toBe(true)
    stubborn.signal('SIGINT')
    expect(await stubborn.exited).toMatchObject({ code: 130 })
    await until(async () => (await postmaster()) === null, 'its database has ended too')
  })

  test('when its database is killed it ends with a sentence, and the next start goes on', async () => {
    const service = await started()
    process.kill((await postmaster())!, 'SIGKILL')
    expect(await service.exited).toMatchObject({ code: 1 })
    expect(service.output()).toContain('stellwerk: The embedded PostgreSQL has ended, though nobody stopped it here.')
    expect((await readiness(await started())).status).toBe(200)
  })
})

describe('killed at random moments of the start, first or later', { concurrent: true }, () => {
  // Two at once, since most of the time is the disk's.
  test.for(['one', 'other'])(
    'ten times on %s: the next start works',
    { timeout: 120_000 },
    async (name, { expect }) => {
      const at = await mkdtemp(join(tmpdir(), `stellwerk ${name} `))
      const random = seededRandom()
      for (let round = 0; round < 10; round++) {
        // Some begin with nothing at all.
        if (round % 4 === 0) await leftovers(at)
        const service = startService({ dataDir: at })
        await delay(100 + random.below(2_000))
        // Whatever the one before has left is nothing to stumble over.
        expect(service.runs(), `seed ${random.seed}, round ${round}: ${service.output()}`).toBe(true)
        await kill(service)
      }
      const scraps = async () => (await readdir(at)).filter((entry) => /^(postgres\.new-|run\.json\.)/.test(entry))
      let service = startService({ dataDir: at })
      try {
        await service.started()
        expect((await readiness(service)).status).toBe(200)
        const id = await enqueue(service, 'email_send', {
          to: { address: 'ada@example.org' },
          content: { subject: 'Hello', text: 'It runs.' },
        })
        await until(async () => (await statusOf(service, id)) === 'DONE', 'a job is done')
        // Where an initdb that outlived its parent was still writing, its folder goes at the next start.
        if ((await scraps()).length > 0) {
          await kill(service)
          service = startService({ dataDir: at })
          await service.started()
        }
        expect(await scraps()).toEqual([])
      } finally {
        await kill(service)
        await leftovers(at)
      }
    },
  )
})
