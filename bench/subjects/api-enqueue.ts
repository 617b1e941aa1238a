import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { fileURLToPath } from 'node:url'
import { migrate } from '../../src/db/migrate.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import type { Given } from '../given.ts'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { enqueueCalls, warmUpOf } from './enqueue-calls.ts'
import { post } from './post.ts'
import { kinds } from './stellwerk-kinds.ts'
import { startService } from './start-service.ts'

interface Server {
  readonly process: ChildProcess
  readonly port: number
  readonly token: string
  /** The body of a call that enqueues these. */
  body(numbers: readonly number[]): string
}

const kind = kinds[0]!.name

const servers = {
  async stellwerk(given: Given): Promise<Server> {
    const { service, port, token } = await startService('api', 'stellwerk-kinds.ts', given)
    const input = (i: number) => ({ job: { custom: { kind, payload: { i } } }, tenantId: 'default' })
    const one =
      'mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { outcome job { id } errors { message } } }'
    const many = 'mutation ($input: EnqueueJobsInput!) { enqueueJobs(input: $input) { created errors { message } } }'
    return {
      process: service,
      port,
      token,
      body: (numbers) =>
        given.options.bulk === '1'
          ? JSON.stringify({ query: one, variables: { input: input(numbers[0]!) } })
          : JSON.stringify({ query: many, variables: { input: { jobs: numbers.map(input) } } }),
    }
  },
  /** What many would build: yoga as it comes, and one INSERT a mutation. */
  async yoga(): Promise<Server> {
    const query = 'mutation ($kind: String!, $payload: JSON!) { enqueue(kind: $kind, payload: $payload) { id errors } }'
    return {
      ...(await forked('yoga-server.ts')),
      body: ([i]) => JSON.stringify({ query, variables: { kind, payload: { i } } }),
    }
  },
  /** No GraphQL, no token, no checks: the statement alone, behind the same group commit. */
  async http(): Promise<Server> {
    return {
      ...(await forked('http-server.ts')),
      body: (numbers) => JSON.stringify(numbers.map((i) => ({ kind, payload: { i } }))),
    }
  },
}

async function forked(script: string): Promise<Omit<Server, 'body'>> {
  const server = fork(fileURLToPath(new URL(script, import.meta.url)))
  const [{ port }] = (await once(server, 'message')) as [{ port: number }]
  return { process: server, port, token: 'none' }
}

/** Linux counts in hundredths of a second, all threads together. */
const microsPerTick = 10_000

function processorMicros({ pid }: ChildProcess): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const values = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(values[11]) + Number(values[12])) * microsPerTick
}

await runStep({
  async prepare({ url }) {
    await migrate(url)
    await withClient(url, async (client) => {
      await registerKinds(client, kindCatalogue(kinds, {}))
      // As the seed's own: a key, a queue index, a payload.
      await client.query(`
        create table plain_job (
          id uuid primary key default gen_random_uuid(), kind text not null, payload jsonb not null,
          status text not null default 'pending', priority int not null default 100, attempts int not null default 0,
          available_at timestamptz not null default now(), created_at timestamptz not null default now());
        create index on plain_job (priority, available_at) where status = 'pending'`)
    })
  },
  async measure(given, meter) {
    const server = await servers[given.options.server as keyof typeof servers](given)
    const { port, token } = server
    const agent = new Agent({ keepAlive: true, maxSockets: Number(given.options.inFlight) })
    let before = 0
    const begin = meter.begin
    const figures = await enqueueCalls(
      given,
      {
        ...meter,
        begin() {
          before = processorMicros(server.process)
          begin()
        },
      },
      (numbers) => post({ port, token, agent, body: server.body(numbers) }),
    )
    const micros = (processorMicros(server.process) - before) / given.jobs
    agent.destroy()
    server.process.kill('SIGTERM')
    await once(server.process, 'exit')
    return { ...figures, apiMicros: micros, perCore: 1_000_000 / micros }
  },
  async check({ url, jobs, options }) {
    await withClient(url, async (client) => {
      const table = options.server === 'yoga' ? 'plain_job' : `mdm.aa_job where job_kind = '${kind}'`
      const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${table}`)
      const expected = jobs + warmUpOf(jobs)
      if (rows[0]!.count !== expected) throw new Error(`${rows[0]!.count} jobs went in, not ${expected}.`)
    })
  },
})
