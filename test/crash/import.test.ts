import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { importFixture, type ImportFixture, type ImportState } from '../kinds/import-support.ts'
import { seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { killableWorkers, kills, survivesKills, type KillableWorkers } from './killable-workers.ts'

const random = seededRandom()
const rows = 6_000
/** Every so many rows one is bad. */
const badEvery = 50
const bad = rows / badEvery

let fixture: ImportFixture
let worker: KillableWorkers
beforeEach(async () => {
  fixture = await importFixture({ serve: false })
  worker = killableWorkers(fixture)
})
afterEach(async () => {
  await worker.kill()
  await fixture.stop()
})

const content = `externalKey,name,price\n${Array.from(
  { length: rows },
  (_, i) => `key-${i},"Name, ${i}",${i % badEvery === 0 ? 'n/a' : i}\n`,
).join('')}`

const progressOf = ({ staged, validated, committed }: ImportState): number => staged + validated + committed

test(
  `SIGKILL at random moments of importing: the counts are exact at each, and every row becomes one entity (SEED=${random.seed})`,
  { timeout: 60_000 + kills * 30_000 },
  async () => {
    const { sql, dataDir } = fixture
    const start = () =>
      worker.start({
        dataDir,
        slots: 1,
        kinds: ['bulk_import'],
        // Slices of half a second, so that what is between them is met as well.
        env: { STELLWERK_KIND_BULK_IMPORT: JSON.stringify({ ...JSON.parse(survivesKills), timeoutMs: 2_000 }) },
      })
    const begun: { readonly id: string; readonly typeId: string }[] = []
    const begin = async (): Promise<void> => {
      const typeId = await fixture.type({ name: 'text', price: 'number' })
      const id = await fixture.upload(typeId, content, { enqueue: false })
      await sql(`select mdm.enqueue_job('bulk_import', jsonb_build_object('import_job_id', $1::uuid))`, [id])
      begun.push({ id, typeId })
    }
    const count = async ({ id, typeId }: (typeof begun)[number]) =>
      (
        await sql(
          `select count(*)::int as staged, count(*) filter (where status <> 'staged')::int as validated, count(*) filter (where status = 'invalid')::int as invalid,
                  count(*) filter (where status = 'committed')::int as committed, (select count(*)::int from mdm.ddm_entity where entity_type_id = $2) as entities,
                  (select count(distinct external_key)::int from mdm.ddm_entity where entity_type_id = $2) as keys
             from mdm.aa_import_row where import_job_id = $1`,
          [id, typeId],
        )
      )[0]!

    await start()
    await begin()
    for (let kill = 0; kill < kills; await start()) {
      const { id } = begun.at(-1)!
      const before = progressOf(await fixture.state(id))
      const more = 1 + random.below(rows)
      const status = await until(async () => {
        const now = await fixture.state(id)
        return now.status === 'done' || progressOf(now) >= before + more ? now.status : null
      }, 'some more rows are through')
      // Not only just behind a commit.
      await delay(random.below(400))
      await worker.kill()
      if (status === 'done') {
        await begin()
        continue
      }
      kill += 1
      const told = await fixture.state(id)
      const { staged, validated, invalid, committed } = told
      expect(await count(begun.at(-1)!)).toEqual({
        staged,
        validated,
        invalid,
        committed,
        entities: committed,
        keys: committed,
      })
    }
    for (const each of begun) {
      expect(await fixture.ended(each.id, 60_000)).toMatchObject({
        status: 'done',
        total: rows,
        staged: rows,
        validated: rows,
        valid: rows - bad,
        invalid: bad,
        committed: rows - bad,
      })
      expect(await count(each)).toMatchObject({ entities: rows - bad, keys: rows - bad, committed: rows - bad })
      expect((await fixture.result(each.id)).split('\r\n')).toHaveLength(rows + 2)
      const audits = await sql(
        `select 1 from mdm.aa_audit_log where action = 'import_done' and payload ->> 'import_id' = $1`,
        [each.id],
      )
      expect(audits).toHaveLength(1)
    }
  },
)
