import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { migrate } from '../../src/db/migrate.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import type { Given } from '../given.ts'
import { withClient } from '../measure.ts'
import { processMicros } from '../meter.ts'
import { runStep } from '../step.ts'
import { startService } from './start-service.ts'
import { percentile } from './pickup-samples.ts'
import { kinds } from './stellwerk-kinds.ts'

/** A server under measurement, in a process of its own. */
interface Server {
  readonly process: ChildProcess
  readonly port: number
  readonly authorization: string
  /** What each client subscribes to, and what stands once in the message of each event. */
  readonly query: string
  readonly marker: string
  /** Causes so many events at once. */
  cause(count: number): Promise<void>
}

const burst = 20
/** Of bursts a few are enough: each is a hundred thousand deliveries. */
const eventsOfABurst = 4
/** What was not delivered by then never is. */
const mostMs = 30_000
const kind = kinds[0]!.name

const servers = {
  /** `stellwerk api`; the events are what its own mutations bring about, so their commits are in the times. */
  async stellwerk(given: Given): Promise<Server> {
    const { options } = given
    const { service, port, token } = await startService('api', 'stellwerk-kinds.ts', given)
    const call = async (query: string, variables: object): Promise<Record<string, never>> => {
      const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query, variables }),
      })
      const text = await response.text()
      if (text.includes('"message"')) throw new Error(text.slice(0, 500))
      return (JSON.parse(text) as { data: Record<string, never> }).data
    }
    const enqueue = (count: number) =>
      call(
        'mutation ($input: EnqueueJobsInput!) { enqueueJobs(input: $input) { created results { job { id } } errors { message } } }',
        {
          input: {
            jobs: Array.from({ length: count }, (_, i) => ({
              job: { custom: { kind, payload: { i } } },
              tenantId: 'default',
            })),
          },
        },
      )
    const common = { process: service, port, authorization: `Bearer ${token}`, marker: '"revision"' }
    const fields = 'type cursor jobId event { type revision at }'
    if (options.stream === 'jobs') {
      return {
        ...common,
        query: `subscription { jobs(window: "PT0S") { cursor updates { ${fields} } } }`,
        async cause(count) {
          await enqueue(count)
        },
      }
    }
    const { enqueueJobs } = (await enqueue(1)) as unknown as { enqueueJobs: { results: { job: { id: string } }[] } }
    const { id } = enqueueJobs.results[0]!.job
    let priority = 0
    return {
      ...common,
      query: `subscription { job(id: "${id}") { ${fields} } }`,
      async cause(count) {
        const moves = Array.from(
          { length: count },
          (_, i) =>
            `m${i}: reprioritizeJob(input: { id: "${id}", priority: ${(priority += 1) % 1_000} }) { job { priority } errors { message } }`,
        )
        await call(`mutation { ${moves.join('\n')} }`, {})
      },
    }
  },
  async peer(): Promise<Server> {
    const server = fork(fileURLToPath(new URL('graphql-ws-fan-out.ts', import.meta.url)))
    const [{ port }] = (await once(server, 'message')) as [{ port: number }]
    return {
      process: server,
      port,
      authorization: 'none',
      query: 'subscription { job { type cursor jobId event { type revision at } } }',
      marker: '"revision"',
      async cause(count) {
        await fetch(`http://127.0.0.1:${port}/publish/${count}`, { method: 'POST' })
      },
    }
  },
}

await runStep({
  async prepare({ url }) {
    await migrate(url)
    await withClient(url, (client) => registerKinds(client, kindCatalogue(kinds, {})))
  },
  async measure(given) {
    const { jobs, options } = given
    const subscribers = Number(options.subscribers)
    const server = await servers[options.server as keyof typeof servers](given)
    const pid = server.process.pid!
    const clients = fork(fileURLToPath(new URL('fan-out-clients.ts', import.meta.url)))
    clients.once('exit', (code) => process.exit(code ?? 1))
    const answer = async (): Promise<number[]> => ((await once(clients, 'message')) as [number[]])[0]
    const ask = (message: object): Promise<number[]> => {
      const answered = answer()
      clients.send(message)
      return answered
    }
    const { port, authorization, query, marker } = server
    await ask({ subscribers, port, authorization, query, marker })
    // Who has just subscribed may not be listening yet: until each has got something.
    const state = async () => (await ask({ state: true })) as [least: number, sum: number]
    while ((await state())[0] === 0) {
      await server.cause(1)
      await wait(500)
    }
    let seen = -1
    for (let [, sum] = await state(); sum !== seen; [, sum] = await state()) {
      seen = sum
      await wait(1_000)
    }

    /** Milliseconds from the call to the last event of each client. */
    const deliver = async (count: number): Promise<number[]> => {
      await ask({ expect: count })
      const all = answer()
      const from = now()
      await server.cause(count)
      const late = setTimeout(() => clients.send({ late: true }), mostMs)
      const took = (await all).map((at) => at - from)
      clearTimeout(late)
      await wait(150)
      return took
    }
    for (let i = 0; i < 3; i += 1) await deliver(1)
    await deliver(burst)

    const ones: number[] = []
    const beforeOnes = processMicros(pid)
    for (let i = 0; i < jobs; i += 1) ones.push(...(await deliver(1)))
    const bursts = Math.ceil(jobs / eventsOfABurst)
    const beforeBursts = processMicros(pid)
    let burstsMs = 0
    for (let i = 0; i < bursts; i += 1) burstsMs += Math.max(...(await deliver(burst)))
    const after = processMicros(pid)
    const figures = {
      p50: percentile(ones, 0.5),
      p99: percentile(ones, 0.99),
      oneMicros: (beforeBursts - beforeOnes) / (jobs * subscribers),
      perSecond: ((bursts * burst * subscribers) / burstsMs) * 1_000,
      burstMicros: (after - beforeBursts) / (bursts * burst * subscribers),
      rssMb: peakMb(pid),
    }
    clients.removeAllListeners('exit').kill('SIGKILL')
    const ended = once(server.process, 'exit')
    server.process.kill(options.server === 'peer' ? 'SIGKILL' : 'SIGTERM')
    await ended
    return figures
  },
  /** The clients count: one event too few never ends, one too many is said. */
  async check() {},
})

/** The same clock in all processes of the machine. */
function now(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}

function peakMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024
}
