import { once } from 'node:events'
import { Agent } from 'node:http'
import { Pool } from 'pg'
import { migrate } from '../../src/db/migrate.ts'
import { enqueue } from '../../src/index.ts'
import type { Enqueuer } from '../../src/resolvers/enqueue-batcher.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { withClient } from '../measure.ts'
import type { Given } from '../given.ts'
import { runStep } from '../step.ts'
import { enqueueCalls, warmUpOf } from './enqueue-calls.ts'
import { enqueueOrder } from './stellwerk-orders.ts'
import { post } from './post.ts'
import { kinds } from './stellwerk-kinds.ts'
import { startWorkers } from './stellwerk-workers.ts'
import { startService } from './start-service.ts'

const kind = 'bench_0'

/** The ways into the queue. */
const ways = {
  /** What stands behind the API: calls that come while a statement is under way share the next. */
  async enqueuer({ url, options }: Given) {
    const enqueuer = Promise.withResolvers<Enqueuer>()
    const stop = await startWorkers(url, { slots: 0, onEnqueuer: enqueuer.resolve })
    const { enqueue: one, enqueueAll } = await enqueuer.promise
    const order = await enqueueOrder(url)
    const add =
      options.bulk === '1'
        ? ([i]: readonly number[]) => one(order(kind, i!))
        : (numbers: readonly number[]) => enqueueAll(numbers.map((i) => order(kind, i)))
    return { add, stop }
  },
  /** In the caller's own transaction. */
  async library({ url, options }: Given) {
    const pool = new Pool({ connectionString: url, max: Number(options.inFlight) })
    return { add: ([i]: readonly number[]) => enqueue(pool, { kind, payload: { i } }), stop: () => pool.end() }
  },
  async sql({ url, options }: Given) {
    const pool = new Pool({ connectionString: url, max: Number(options.inFlight) })
    const one = (i: number) => pool.query('select * from mdm.enqueue_job($1, $2)', [kind, JSON.stringify({ i })])
    const many = (numbers: readonly number[]) =>
      pool.query('select * from mdm.enqueue_jobs($1)', [JSON.stringify(numbers.map((i) => ({ kind, payload: { i } })))])
    return {
      add: (numbers: readonly number[]) => (options.bulk === '1' ? one(numbers[0]!) : many(numbers)),
      stop: () => pool.end(),
    }
  },
  /** Over HTTP to a service of its own; the caller's figures are the client's. */
  async graphql(given: Given) {
    const { options } = given
    const { service, port, token } = await startService('api', 'stellwerk-kinds.ts', given)
    const agent = new Agent({ keepAlive: true, maxSockets: Number(options.inFlight) })
    const call = (query: string, variables: object) =>
      post({ port, token, agent, body: JSON.stringify({ query, variables }) })
    const input = (i: number) => ({ job: { custom: { kind, payload: { i } } }, tenantId: 'default' })
    const add = (numbers: readonly number[]) =>
      options.bulk === '1'
        ? call(
            'mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { outcome job { id } errors { message } } }',
            { input: input(numbers[0]!) },
          )
        : call('mutation ($input: EnqueueJobsInput!) { enqueueJobs(input: $input) { created errors { message } } }', {
            input: { jobs: numbers.map(input) },
          })
    return {
      add,
      async stop() {
        agent.destroy()
        service.kill('SIGTERM')
        await once(service, 'exit')
      },
    }
  },
}

await runStep({
  async prepare({ url }) {
    await migrate(url)
    await withClient(url, (client) => registerKinds(client, kindCatalogue(kinds, {})))
  },
  async measure(given, meter) {
    const { add, stop } = await ways[given.options.by as keyof typeof ways](given)
    const figures = await enqueueCalls(given, meter, add)
    await stop()
    return figures
  },
  async check({ url, jobs, options }) {
    await withClient(url, async (client) => {
      const { rows } = await client.query<{ jobs: number; rows: number }>(
        `select (select count(*)::int from mdm.aa_job where status = 'pending' and job_kind = $1) as jobs,
                (select count(*)::int from mdm.aa_audit_log where action = 'job_enqueued' and job_kind = $1) as rows`,
        [kind],
      )
      const expected = jobs + warmUpOf(jobs)
      if (rows[0]!.jobs !== expected || rows[0]!.rows !== expected)
        throw new Error(`Not each of ${expected} jobs went in once (${options.by}): ${JSON.stringify(rows[0])}`)
    })
  },
})
