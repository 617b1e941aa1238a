import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { keptMemory, tellsKeptMemory } from '../support/kept-memory.ts'
import { seededRandom } from '../support/random.ts'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openEventReader } from './event-reader.ts'
import { registerChore } from './job-moves.ts'
import { openReader, type SocketMessage, type SocketReader } from './socket-reader.ts'

// The real service in processes of its own, and readers on sockets. STELLWERK_RELAY_TRANSITIONS=200000 is the full size (1 minute).

const transitions = Number(process.env.STELLWERK_RELAY_TRANSITIONS ?? 40_000)
const atOnce = 500
const random = seededRandom()

let database: TestDatabase
let folder: string
const services: Service[] = []

beforeAll(async () => {
  database = await testDatabase()
  await registerChore(database.pool)
  await database.sql(
    `select job_id from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', 'chore', 'payload', jsonb_build_object('text', repeat('x', 1000))))
                                            from generate_series(1, $1)), false)`,
    [atOnce],
  )
  folder = await mkdtemp(join(tmpdir(), 'stellwerk-scale-'))
})
afterAll(async () => {
  for (const service of services) service.signal('SIGKILL')
  await Promise.all(services.map(({ exited }) => exited))
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function api(name: string): Promise<Service> {
  const service = startService({
    args: ['api'],
    dataDir: join(folder, name),
    settings: { DATABASE_URL: database.url, STELLWERK_ENV: 'development', ...tellsKeptMemory },
  })
  services.push(service)
  // A busy machine takes its time.
  await service.started().catch(() => service.started())
  return service
}

/** One transition of each of the first jobs, in one commit. */
async function moveAll(count = atOnce): Promise<void> {
  await database.sql(
    `with chosen as (select id from mdm.aa_job where job_kind = 'chore' order by id limit $1),
          moved as (update mdm.aa_job j set priority = (j.priority + 1) % 1000, revision = j.revision + 1
                      from chosen c where j.id = c.id returning j.*)
     insert into mdm.aa_audit_log (job_id, tenant_id, action, revision, job_kind)
     select id, tenant_id, 'job_reprioritized', revision, job_kind from moved`,
    [count],
  )
  await database.sql(`select pg_notify('mdm_wakeup', 'test journal')`)
}

/** Counts events; whatever is missing or double is a step of a job that is not the next one. */
function createTally() {
  const last = new Map<string, number>()
  const tally = { events: 0, faults: 0, resyncs: 0, cursor: null as string | null, take }
  function take({ updates, resync, cursor }: SocketMessage): void {
    if (resync) tally.resyncs += 1
    tally.cursor = cursor
    for (const { jobId, event } of updates) {
      const before = last.get(jobId)
      if (before !== undefined && event!.revision !== before + 1) tally.faults += 1
      last.set(jobId, event!.revision)
      tally.events += 1
    }
  }
  return tally
}

async function streamCursor(url: string, token: string): Promise<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: '{ jobs(first: 1) { streamCursor } }' }),
  })
  return ((await response.json()) as { data: { jobs: { streamCursor: string } } }).data.jobs.streamCursor
}

test(`S03: ${transitions} transitions beside 20 readers that never read: 20 others miss nothing, memory is flat`, async () => {
  const service = await api('readers')
  const [url, token] = [await service.url(), await service.token()]
  const after = await streamCursor(url, token)
  const deaf = Array.from({ length: 20 }, createTally)
  const stuck = await Promise.all(
    deaf.map(async ({ take }) => {
      // With payloads, as the kernel takes 6 MB for each before anything has to wait.
      const reader = await openReader({ url, token, after, fields: 'job { payloadText }', onMessage: take })
      reader.socket.pause()
      // It lives, though it does not read: else its pings would end it.
      const living = setInterval(() => reader.socket.pong(), 5_000)
      void reader.closed.then(() => clearInterval(living))
      return reader
    }),
  )
  const tallies = Array.from({ length: 20 }, createTally)
  const readers = await Promise.all(tallies.map(({ take }) => openReader({ url, token, after, onMessage: take })))
  await until(async () => (await openSubscriptions(url)) === 40, 'all have subscribed', 30_000)

  const memory = [await keptMemory(service)]
  const rounds = Math.ceil(transitions / atOnce)
  for (let round = 1; round <= rounds; round += 1) {
    await moveAll()
    // Those that read keep up: who is 10,000 behind is told to begin anew, which is another test.
    await until(() => tallies.every(({ events }) => events > round * atOnce - 2_000), 'the readers come along', 60_000)
    if (round % Math.ceil(rounds / 5) === 0) memory.push(await keptMemory(service))
  }
  const total = rounds * atOnce
  await until(() => tallies.every(({ events }) => events >= total), 'all was told', 60_000)
  await wait(300)
  expect(tallies.map(({ events }) => events)).toEqual(tallies.map(() => total))
  expect(tallies.filter(({ faults, resyncs }) => faults + resyncs > 0)).toEqual([])

  process.stdout.write(`${total} transitions: ${memory.map((mb) => mb.toFixed(0)).join(' ')} MB kept\n`)
  // The window of 5,000 events, what is shared of it, and for each who does not read one message on its way: 50 MB. Then no more, however
  // many events: the first figure is from after the window was full.
  const [empty, full, ...later] = memory as [number, number, ...number[]]
  expect(full).toBeLessThan(empty + 100)
  expect(Math.max(...later)).toBeLessThan(full + 25)

  // Who reads at last gets what was on its way, then begins anew or is told the rest: never silence.
  for (const { socket } of stuck) socket.resume()
  await until(() => deaf.every(({ resyncs, events }) => resyncs > 0 || events === total), 'they hear of it', 60_000)
  expect(deaf.every(({ faults, resyncs }) => faults === 0 || resyncs === 1)).toBe(true)
  for (const { socket } of [...readers, ...stuck]) socket.terminate()
  await until(async () => (await openSubscriptions(url)) === 0, 'nothing is left open')
}, 600_000)

test('S03: the same of readers of server-sent events that never read', async () => {
  const service = await api('events')
  const [url, token] = [await service.url(), await service.token()]
  const after = await streamCursor(url, token)
  const deaf = Array.from({ length: 20 }, createTally)
  const stuck = await Promise.all(
    deaf.map(({ take }) => openEventReader({ url, token, after, fields: 'job { payloadText }', onMessage: take })),
  )
  const tally = createTally()
  const reader = await openReader({ url, token, after, onMessage: tally.take })
  await until(async () => (await openSubscriptions(url)) === 21, 'all have subscribed', 30_000)
  const memory = [await keptMemory(service)]
  const rounds = Math.max(48, Math.ceil(transitions / atOnce / 4))
  for (let round = 1; round <= rounds; round += 1) {
    await moveAll()
    await until(() => tally.events > round * atOnce - 2_000, 'the reader comes along', 60_000)
    if (round % Math.ceil(rounds / 4) === 0) memory.push(await keptMemory(service))
  }
  const total = rounds * atOnce
  await until(() => tally.events >= total, 'all was told', 60_000)
  expect(tally).toMatchObject({ events: total, faults: 0, resyncs: 0 })
  process.stdout.write(`${total} transitions: ${memory.map((mb) => mb.toFixed(0)).join(' ')} MB kept\n`)
  const [empty, full, ...later] = memory as [number, number, ...number[]]
  expect(full).toBeLessThan(empty + 100)
  expect(Math.max(...later)).toBeLessThan(full + 25)

  for (const { read } of stuck) read()
  await until(() => deaf.every(({ resyncs, events }) => resyncs > 0 || events === total), 'they hear of it', 60_000)
  expect(deaf.every(({ faults, resyncs }) => faults === 0 || resyncs === 1)).toBe(true)
  for (const { close } of stuck) close()
  reader.socket.terminate()
  await until(async () => (await openSubscriptions(url)) === 0, 'nothing is left open')
}, 600_000)

async function openSubscriptions(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^mdm_subscriptions (\d+)$/m.exec(text)![1])
}

test('S01: 1,000 sockets that subscribe and go leave no stream and no memory', async () => {
  const service = await api('door')
  const [url, token] = [await service.url(), await service.token()]
  const comeAndGo = async (): Promise<void> => {
    const { socket, closed } = await openReader({ url, token, after: null, onMessage: () => {} })
    if (random.next() < 0.5) await wait(random.below(20))
    socket.terminate()
    await closed
  }
  const hundred = async (): Promise<void> => {
    for (let i = 0; i < 5; i += 1) await Promise.all(Array.from({ length: 20 }, comeAndGo))
  }
  await hundred()
  await until(async () => (await openSubscriptions(url)) === 0, 'the first ones are gone')
  const before = await keptMemory(service)
  for (let i = 0; i < 9; i += 1) await hundred()
  await until(async () => (await openSubscriptions(url)) === 0, 'all streams are gone')
  const after = await keptMemory(service)
  process.stdout.write(`${before.toFixed(1)} MB kept before, ${after.toFixed(1)} after\n`)
  // 900 streams: what each leaves shows from 5 kB on.
  expect(after).toBeLessThan(before + 5)
  expect(service.output()).not.toContain('MaxListenersExceeded')
}, 120_000)

test(`S12: cut 50 times during 1,000 transitions, an instance killed and another in its place: nothing missing, nothing double (SEED=${random.seed})`, async () => {
  const living = [services.at(-1)!, await api('second')]
  const tally = createTally()
  tally.cursor = await streamCursor(await living[0]!.url(), await living[0]!.token())
  let cuts = 0
  let isDone = false
  let present: SocketReader | undefined

  /** Comes back with its cursor, to any instance, as long as there is something to come. */
  const follow = async (): Promise<void> => {
    while (!isDone) {
      const service = random.pick(living.filter((each) => each.runs()))
      try {
        present = await openReader({
          url: await service.url(),
          token: await service.token(),
          after: tally.cursor,
          window: 'PT0S',
          onMessage: tally.take,
        })
        await present.closed
      } catch {
        await wait(20)
      }
    }
  }
  const following = follow()
  for (let moved = 0; moved < 1_000; moved += 10) {
    await moveAll(10)
    if (moved % 20 === 0) {
      cuts += 1
      await wait(random.below(30))
      present?.socket.terminate()
    }
    if (moved === 400) {
      living[1]!.signal('SIGKILL')
      await living[1]!.exited
      living[1] = await api('second')
    }
  }
  await until(() => tally.events >= 1_000, 'all was told', 30_000)
  await wait(300)
  isDone = true
  present?.socket.terminate()
  await following
  expect(cuts).toBe(50)
  expect(tally).toMatchObject({ events: 1_000, faults: 0, resyncs: 0 })
}, 120_000)
