import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEmbedded, type EmbeddedPostgres } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import type { TestDatabase } from '../support/database.ts'
import { seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { entitiesOf } from './entity-support.ts'
import { startWorkers, type Workers } from './support.ts'

// On a server of its own, as the product sets it: with a disk to wait for, with autovacuum, and with a log of waits.
// STELLWERK_REINDEX_ROWS=1000000 is the full size (a quarter of an hour).

const rows = Number(process.env.STELLWERK_REINDEX_ROWS ?? 60_000)
const fillRows = 20_000
const mostTransactionMs = 2_000
/** What PostgreSQL logs as a lock wait is longer than this; it names the session's application first. */
const mostWaitMs = 1_000
const random = seededRandom()

let dataDir: string
let server: EmbeddedPostgres
let database: Pick<TestDatabase, 'url' | 'sql'>
let pool: Pool
let workers: Workers
const logged: string[] = []

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-reindex-'))
  server = await startEmbedded({
    dataDir,
    settings: { log_lock_waits: 'on', deadlock_timeout: `${mostWaitMs}ms`, log_line_prefix: '%a ' },
    log: (line) => logged.push(line),
  })
  await migrate(server.url)
  pool = new Pool({ connectionString: server.url, application_name: 'writer', max: 8 })
  pool.on('error', () => undefined)
  database = {
    url: server.url,
    sql: async (text, values = []) => (await pool.query(text, [...values])).rows as never,
  }
}, 120_000)
afterAll(async () => {
  await workers?.stop()
  await pool?.end()
  await server?.stop()
  await rm(dataDir, { recursive: true, force: true })
}, 60_000)

let type: string
let ids: string[]

beforeAll(async () => {
  const entities = entitiesOf(database as TestDatabase)
  type = await entities.type('customer', { language: 'german' })
  await entities.attribute(type, { key: 'name', searchable: true })
  await entities.attribute(type, { key: 'note', searchable: true, weight: 'B' })
  // Twenty words a row out of some 50,000, so that the index of vectors has the lists of a real one.
  const text = `jsonb_build_object('name', 'Kunde ' || n || ' Straße ' || n % 5003, 'note',
    (select string_agg('wort' || (n::bigint * i * 7919) % 50021, ' ') from generate_series(1, 16) i))`
  for (let filled = 0; filled < rows; filled += fillRows)
    await entities.fill(type, Math.min(fillRows, rows - filled), text)
  const some = await database.sql<{ id: string }>(
    'select id from mdm.ddm_entity where entity_type_id = $1 and random() < 10000.0 / $2',
    [type, rows],
  )
  ids = some.map(({ id }) => id)
  workers = await startWorkers(database, { kinds: ['reindex'] })
  for (const kind of ['reindex', 'index_sync']) await entities.quiet(kind, 5 * 60_000)
}, 30 * 60_000)

/** Four writers, one edit or insert every few milliseconds each, until `work` is done; says how long their statements took. */
async function writingDuring<Result>(work: () => Promise<Result>): Promise<{ result: Result; writes: number[] }> {
  const entities = entitiesOf(database as TestDatabase)
  logged.splice(0)
  const writes: number[] = []
  let over = false
  const write = async (): Promise<void> => {
    while (!over) {
      const begun = performance.now()
      const note = `geändert ${random.below(50_021)}`
      if (writes.length % 4 === 0) await entities.insert(type, { name: 'Neu', note })
      else
        await database.sql(
          `update mdm.ddm_entity set attributes = attributes || jsonb_build_object('note', $2::text) where id = $1`,
          [random.pick(ids), note],
        )
      writes.push(performance.now() - begun)
      await wait(5)
    }
  }
  const writers = [write(), write(), write(), write()]
  try {
    return { result: await work(), writes: writes.sort((a, b) => b - a) }
  } finally {
    over = true
    await Promise.all(writers)
  }
}

const figures = (writes: readonly number[]): string =>
  `${writes.length} writes, p99 ${Math.round(writes[Math.floor(writes.length / 100)]!)} ms, longest ${Math.round(writes[0]!)} ms`
const lockWaits = (): string[] => logged.filter((line) => /^writer .*(still waiting for|deadlock detected)/.test(line))

test(
  `KINDS 4.5: of ${rows} entities no batch transaction is longer than 2 s, and no writer waits for a lock for a second`,
  async () => {
    const entities = entitiesOf(database as TestDatabase)
    const batches = new Map<string, { ms: number; doing: string }>()
    let over = false
    let lastLook = performance.now()
    let gap = 0

    /** How long transactions of the workers are open that have written entities, as the server sees them. */
    const watch = async (): Promise<void> => {
      while (!over) {
        for (const { id, ms, doing } of await database.sql<{ id: string; ms: number; doing: string }>(
          `select a.pid || ' ' || xact_start as id, extract(epoch from clock_timestamp() - xact_start)::float8 * 1000 as ms,
                  concat_ws(' ', state, wait_event_type, wait_event) as doing
             from pg_stat_activity a join pg_locks l on l.pid = a.pid and l.relation = 'mdm.ddm_entity'::regclass and l.mode = 'RowExclusiveLock'
            where application_name = 'stellwerk commit' and xact_start is not null`,
        ))
          batches.set(id, { ms, doing })
        gap = Math.max(gap, performance.now() - lastLook)
        lastLook = performance.now()
        await wait(10)
      }
    }
    const watching = watch()
    const begun = performance.now()
    const { result: job, writes } = await writingDuring(async () => {
      await database.sql(`update mdm.ddm_entity_type_attribute set search_weight = 'A' where attr_key = 'name'`)
      return until(
        async () => {
          await wait(100)
          const last = (await entities.jobs('reindex')).at(-1)
          return last?.payload.entity_type_id === type && last.status === 'done' ? last : null
        },
        'the reindex is done',
        30 * 60_000,
      )
    })
    const seconds = (performance.now() - begun) / 1_000
    over = true
    await watching

    const longest = [...batches.values()].toSorted((a, b) => b.ms - a.ms)
    const told = longest.slice(0, 3).map(({ ms, doing }) => `${Math.round(ms)} ms (${doing})`)
    process.stderr.write(
      `${rows} entities in ${seconds.toFixed(1)} s: longest of ${longest.length} batches ${told.join(', ')}; ${figures(writes)}; the watch itself stood still for ${Math.round(gap)} ms at most\n`,
    )
    expect(job.result).toMatchObject({ version: expect.any(Number) })
    // One of at most 1,000 each, as far as the looks fall into them.
    expect(batches.size).toBeGreaterThan(rows / 1_000 / 2)
    expect(longest[0]!.ms).toBeLessThan(mostTransactionMs)
    expect(lockWaits()).toEqual([])
    const [stale] = await database.sql<{ n: number }>(
      `select count(*)::int as n from mdm.ddm_entity e join mdm.ddm_entity_type t on t.id = e.entity_type_id where e.search_version <> t.search_version`,
    )
    expect(stale!.n).toBe(0)
  },
  40 * 60_000,
)

test(
  `KINDS 9.6: no writer waits for a lock while the index for external sources is built over ${rows} entities`,
  async () => {
    const entities = entitiesOf(database as TestDatabase)
    const { writes } = await writingDuring(async () => {
      await database.sql('update mdm.ddm_entity_type set is_external_source_target = true where id = $1', [type])
      return entities.typeReached(type, 'active', 10 * 60_000)
    })
    process.stderr.write(`GIN index over ${rows} entities: ${figures(writes)}\n`)
    expect(writes.length).toBeGreaterThan(0)
    expect(lockWaits()).toEqual([])
  },
  12 * 60_000,
)
