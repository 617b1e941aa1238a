import { migrate } from '../../src/db/migrate.ts'
import { defineKind, z } from '../../src/index.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { asInstance, drainTogether, runUntilDrained, tellStart } from './instances.ts'
import { startWorkers } from './stellwerk-workers.ts'
import { untilNone } from './until-none.ts'

const kind = defineKind({
  name: 'nothing',
  payload: z.object({ i: z.int() }),
  example: { i: 0 },
  async run() {
    tellStart()
  },
})

await runStep({
  async prepare({ url, jobs }) {
    await migrate(url)
    await withClient(url, async (client) => {
      await registerKinds(client, kindCatalogue([kind], {}))
      await client.query(
        `insert into mdm.aa_tenant (tenant_key, name) select 't' || i, 'bench' from generate_series(1, 100) i`,
      )
      for (let from = 0; from < jobs; from += 10_000)
        await client.query(
          `select from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', 'nothing', 'tenant', 't' || 1 + i % 100, 'payload', jsonb_build_object('i', i))) from generate_series($1::int, $2::int - 1) i), false)`,
          [from, Math.min(from + 10_000, jobs)],
        )
    })
  },
  async measure({ url, jobs, options }, meter) {
    if (asInstance) return runUntilDrained(await startWorkers(url, { kinds: [kind] }))
    return drainTogether(import.meta.filename, { count: Number(options.processes), jobs }, meter, () =>
      untilNone(url, 'select from mdm.aa_claim limit 1'),
    )
  },
  async check({ url, jobs }) {
    await withClient(url, async (client) => {
      const { rows } = await client.query<{ done: number }>(
        `select count(distinct job_id)::int as done from mdm.aa_audit_log where action = 'job_done'`,
      )
      if (rows[0]!.done !== jobs) throw new Error(`${rows[0]!.done} of ${jobs} jobs are done.`)
    })
  },
})
