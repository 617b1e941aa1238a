import { migrate } from '../../src/db/migrate.ts'
import { defineEffect, defineKind, z, type HandlerResult } from '../../src/index.ts'
import { kindCatalogue } from '../../src/workers/kind-catalogue.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { withClient } from '../measure.ts'
import { runStep } from '../step.ts'
import { startWorkers } from './stellwerk-workers.ts'
import { untilNone } from './until-none.ts'
import { checkRows, createWork, rowTable, waitForIo, workOf } from './worked-jobs.ts'

const row = defineEffect<{ i: number }>({
  name: 'bench_row',
  sql: 'insert into bench_row (job_number) select i from jsonb_to_recordset($1) r(i int)',
})

const kindThat = (run: (i: number) => Promise<HandlerResult | void>) =>
  defineKind({
    name: 'work',
    payload: z.object({ i: z.int() }),
    example: { i: 0 },
    run: ({ payload }) => run(payload.i),
  })

await runStep({
  async prepare({ url, jobs }) {
    await migrate(url)
    await withClient(url, async (client) => {
      await registerKinds(client, kindCatalogue([kindThat(async () => {})], {}))
      await client.query(rowTable)
      for (let from = 0; from < jobs; from += 1_000)
        await client.query(
          `select from mdm.enqueue_jobs((select jsonb_agg(jsonb_build_object('kind', 'work', 'payload', jsonb_build_object('i', i))) from generate_series($1::int, $2::int - 1) i), false)`,
          [from, Math.min(from + 1_000, jobs)],
        )
    })
  },
  async measure(given, meter) {
    const work = createWork(given.jobs)
    work.onFirst(() => meter.begin())
    const kind = kindThat(async (i) => {
      void work.run(i)
      if (workOf(given) === 'wait') return waitForIo()
      if (given.options.by === 'effects') return { effects: [row({ i })] }
      return { commit: async (tx) => void (await tx.query('insert into bench_row (job_number) values ($1)', [i])) }
    })
    const stop = await startWorkers(given.url, { kinds: [kind], slots: Number(given.options.slots) })
    await work.all
    await untilNone(given.url, `select from mdm.aa_job where status in ('pending', 'running') limit 1`)
    const figures = meter.end()
    await stop()
    return figures
  },
  check: checkRows,
})
