import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { ensurePriorityIndexes } from '../../src/db/ensure-priority-indexes.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createPools } from '../../src/db/pool.ts'
import { defineKind, z } from '../../src/index.ts'
import { cleanupSteps } from '../../src/workers/handlers/cleanup-steps.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import type { Figures } from '../bench.ts'
import { withClient } from '../measure.ts'
import { processMicros, type Meter } from '../meter.ts'
import { runStep } from '../step.ts'
import { startWorkers } from './stellwerk-workers.ts'

// The first jobs of a backlog, in a situation that hurts other queues: beside a million done ones, say.

/** These run before the meter begins: plans and code are warm then, and as many are claimed ahead as at the end. */
const warmUp = 6_000
/** How many are measured, if there are as many. */
const mostMeasured = 20_000
const kindCount = 9

interface Situation {
  /** What stands in the database beside the backlog. */
  before?(client: Client): Promise<unknown>
  /** What goes on while it is worked off; answers what ends it. */
  meanwhile?(url: string): Promise<() => Promise<unknown>>
  readonly scrapeEveryMs?: number
}

const situations: Readonly<Record<string, Situation>> = {
  clean: {},
  'tenants that only wait': {
    before: (client) =>
      client.query(`
        with waiting as (
          insert into mdm.aa_tenant (tenant_key, name) select 'w' || i, 'bench' from generate_series(1, 10000) i returning id)
        insert into mdm.aa_job (tenant_id, job_kind, payload, available_at, deferred, revision)
        select id, 'bench_0', '{}', now() + interval '1 hour', true, 1 from waiting, generate_series(1, 3)`),
  },
  'foreign jobs ahead': {
    async before(client) {
      await registerKinds(client, kindCatalogue([foreign], {}))
      await insertJobs(client, 300_000, { kinds: ['foreign'], tenants: 100, priority: 0 })
    },
  },
  'a million done': { before: (client) => insertDone(client, 1_000_000) },
  'held snapshot': {
    async meanwhile(url) {
      const client = new Client({ connectionString: url })
      await client.connect()
      await client.query('begin isolation level repeatable read')
      await client.query('select from mdm.aa_tenant limit 1')
      return () => client.end()
    },
  },
  'metrics scraped': { before: (client) => insertDone(client, 1_000_000), scrapeEveryMs: 1_000 },
  'retention at work': {
    before: (client) => insertDone(client, 400_000),
    // The service's own step, with its batches and pauses.
    async meanwhile(url) {
      const pools = createPools(url)
      const ending = new AbortController()
      const maintenance = { runOnce: async () => [], recoverLost: async () => null }
      const steps = cleanupSteps({
        pool: pools.commit,
        maintenance,
        retentionMs: 24 * 60 * 60 * 1_000,
        journalMonths: 13,
      })
      const step = steps.find(({ name }) => name === 'done jobs')!
      const log = { info() {}, warn() {} }
      const deleting = step.run({ signal: ending.signal, progress: async () => undefined, log })
      return async () => {
        ending.abort()
        await deleting
        await pools.end()
      }
    },
  },
}

const started = { jobs: 0, from: () => {}, until: () => {}, last: 0 }
const kinds = Array.from({ length: kindCount }, (_, i) =>
  defineKind({
    name: `bench_${i}`,
    payload: z.looseObject({}),
    async run() {
      started.jobs += 1
      if (started.jobs === warmUp) started.from()
      if (started.jobs === started.last) started.until()
    },
  }),
)
const foreign = defineKind({ name: 'foreign', payload: z.looseObject({}), run: async () => undefined })

await runStep({
  async prepare({ url, jobs, options }) {
    const tenants = Number(options.tenants)
    await migrate(url)
    await withClient(url, async (client) => {
      await registerKinds(client, kindCatalogue(kinds, {}))
      await client.query(
        `insert into mdm.aa_tenant (tenant_key, name) select 't' || i, 'bench' from generate_series(1, $1::int) i`,
        [tenants],
      )
      await situationOf(options).before?.(client)
      await insertJobs(client, jobs + warmUp, { kinds: kinds.map(({ name }) => name), tenants, priority: 100 })
    })
    // The workers' start makes them else, and would wait for the end of a held snapshot.
    if (options.dispatch === 'priority') await ensurePriorityIndexes(url)
  },
  async measure({ url, jobs, options }, meter) {
    const { meanwhile, scrapeEveryMs } = situationOf(options)
    const isSmall = jobs < mostMeasured
    const all = Promise.withResolvers<void>()
    Object.assign(started, {
      from: isSmall ? () => {} : () => meter.begin(),
      until: all.resolve,
      last: isSmall ? jobs + warmUp : mostMeasured + warmUp,
    })
    const leave = await meanwhile?.(url)
    const stop = await startWorkers(url, {
      kinds,
      dispatch: options.dispatch === 'priority' ? 'priority' : 'fair',
      ...(scrapeEveryMs === undefined ? {} : { scrapeEveryMs }),
    })
    await all.promise
    const figures = isSmall ? await measureWaves(url, jobs, Number(options.tenants), meter) : meter.end(mostMeasured)
    await stop()
    await leave?.()
    return figures
  },
  async check({ url }) {
    // What was under way at the end has been settled or given back.
    await withClient(url, async (client) => {
      const { rows } = await client.query<{ wrong: number; running: number }>(`
        select (select count(*)::int from mdm.aa_job j where status = 'done' and runs = 1 and created_at > '2020-01-02Z' and not exists (
                  select from mdm.aa_audit_log a where a.job_id = j.id and a.action = 'job_done')) as wrong,
               (select count(*)::int from mdm.aa_job where status = 'running') as running`)
      if (rows[0]!.wrong > 0 || rows[0]!.running > 0) throw new Error(`Not exactly once: ${JSON.stringify(rows[0])}`)
    })
  },
})

/** A backlog smaller than what is measured comes again whenever the one before is gone. What putting it there takes of the server is left out. */
async function measureWaves(url: string, jobs: number, tenants: number, meter: Meter): Promise<Figures> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const ownMicros = (): number => processMicros(rows[0]!.pid)
    const gone = async (): Promise<void> => {
      while ((await client.query('select from mdm.aa_claim limit 1')).rowCount !== 0) await wait(2)
    }
    await gone()
    const ownBefore = ownMicros()
    let busyMs = 0
    meter.begin()
    for (let done = 0; done < mostMeasured; done += jobs) {
      const all = Promise.withResolvers<void>()
      Object.assign(started, { until: all.resolve, last: started.jobs + jobs })
      await insertJobs(client, jobs, {
        kinds: kinds.map(({ name }) => name),
        tenants,
        priority: 100,
        first: done,
        notify: true,
      })
      const from = performance.now()
      await all.promise
      await gone()
      busyMs += performance.now() - from
    }
    const { serverMicros, ...figures } = meter.end(mostMeasured)
    return {
      ...figures,
      serverMicros: serverMicros! - (ownMicros() - ownBefore) / mostMeasured,
      perSecond: (mostMeasured / busyMs) * 1_000,
    }
  })
}

function situationOf(options: Readonly<Record<string, string>>): Situation {
  return situations[options.situation ?? 'clean']!
}

interface Inserted {
  readonly kinds: readonly string[]
  readonly tenants: number
  readonly priority: number
  /** Where in the turn of tenants and kinds they begin. */
  readonly first?: number
  /** Whether workers are told. */
  readonly notify?: boolean
}

/** Of all tenants and kinds in turn. */
async function insertJobs(
  client: Client,
  count: number,
  { kinds: names, tenants, priority, first = 0, notify = false }: Inserted,
): Promise<void> {
  for (let from = first; from < first + count; from += 10_000)
    await client.query(
      `select from mdm.enqueue_jobs((
         select jsonb_agg(jsonb_build_object('kind', ($3::text[])[1 + (i / $4) % cardinality($3)], 'tenant', 't' || 1 + i % $4, 'priority', $5::int, 'payload', '{"i": 1}'::jsonb))
           from generate_series($1::int, $2::int - 1) i), $6)`,
      [from, Math.min(from + 10_000, first + count), names, tenants, priority, notify],
    )
}

/** Jobs of long ago. */
async function insertDone(client: Client, count: number): Promise<void> {
  await client.query(
    `insert into mdm.aa_job (id, tenant_id, job_kind, status, attempts, runs, revision, created_at, available_at, completed_at)
     select ('016f5e66-e800-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, t.id, 'bench_0', 'done', 1, 1, 3, '2020-01-01Z', '2020-01-01Z', '2020-01-01Z'
       from generate_series(1, $1::int) i join (select id, row_number() over () as n from mdm.aa_tenant where tenant_key like 't%') t on t.n = 1 + i % 100`,
    [count],
  )
}
