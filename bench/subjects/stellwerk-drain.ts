import type { Client } from 'pg'
import { migrate } from '../../src/db/migrate.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { drained, kinds } from './stellwerk-kinds.ts'
import { startWorkers } from './stellwerk-workers.ts'

const tenants = 100

await runStep({
  async prepare({ url, jobs }) {
    await migrate(url)
    await withClient(url, async (client) => {
      await registerKinds(client, kindCatalogue(kinds, {}))
      await client.query(
        `insert into mdm.aa_tenant (tenant_key, name) select 't' || i, 'bench' from generate_series(1, $1::int) i`,
        [tenants],
      )
      for (let from = 0; from < jobs; from += 1_000) await enqueue(client, from, Math.min(1_000, jobs - from))
    })
  },
  async measure({ url, options }) {
    const stop = await startWorkers(url, { dispatch: options.dispatch === 'priority' ? 'priority' : 'fair' })
    const figures = await drained.promise
    await stop()
    return figures
  },
  async check({ url, jobs }) {
    await withClient(url, async (client) => {
      const { rows } = await client.query<{ jobs: number; done: number; rows: number; claims: number }>(`
        select (select count(*)::int from mdm.aa_job where job_kind like 'bench%') as jobs,
               (select count(*)::int from mdm.aa_job where job_kind like 'bench%' and status = 'done' and runs = 1 and revision = 3 and lease is null) as done,
               (select count(distinct job_id)::int from mdm.aa_audit_log where action = 'job_done' and job_kind like 'bench%') as rows,
               (select count(*)::int from mdm.aa_claim) as claims`)
      const found = rows[0]!
      if (found.jobs !== jobs || found.done !== jobs || found.rows !== jobs || found.claims !== 0)
        throw new Error(`Not each of ${jobs} jobs was done exactly once: ${JSON.stringify(found)}`)
    })
  },
})

/** Jobs of all tenants and kinds in turn. */
async function enqueue(client: Client, from: number, count: number): Promise<void> {
  const batch = Array.from({ length: count }, (_, n) => {
    const i = from + n
    return {
      kind: kinds[Math.floor(i / tenants) % kinds.length]!.name,
      tenant: `t${1 + (i % tenants)}`,
      payload: { i },
    }
  })
  await client.query('select from mdm.enqueue_jobs($1, false)', [JSON.stringify(batch)])
}
