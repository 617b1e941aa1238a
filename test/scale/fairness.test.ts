import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSupervisor, type Supervisor } from '../crash/supervisor.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const slots = 4

let database: TestDatabase
let supervisor: Supervisor

beforeEach(async () => {
  database = await testDatabase()
  supervisor = await createSupervisor({ ...database, settings: { STELLWERK_WORKERS: String(slots) } })
  await database.sql(`insert into mdm.aa_tenant (tenant_key, name, metadata) values
    ('a', 'A', '{}'), ('b', 'B', '{}'), ('heavy', 'Heavy', '{"weight": 3}'), ('light', 'Light', '{}')`)
  // 5,000 that have nothing to do now stand beside them: half have never had a job, half wait for their time.
  await database.sql(`
    with idle as (insert into mdm.aa_tenant (tenant_key, name) select 'idle-' || n, 'Idle' from generate_series(1, 5000) n returning id, tenant_key)
    insert into mdm.aa_job (tenant_id, job_kind, available_at)
    select id, 'slow', now() + interval '1 day' from idle where right(tenant_key, 1) in ('0', '2', '4', '6', '8')`)
})

afterEach(async () => {
  await supervisor.end()
  await database.drop()
})

/** The tenants in the order in which their jobs started, as far as they have. */
async function starts(): Promise<string[]> {
  const rows = await database.sql<{ tenant: string }>(
    `select t.tenant_key as tenant from mdm.aa_job j join mdm.aa_tenant t on t.id = j.tenant_id
      where j.claimed_at is not null and t.tenant_key in ('a', 'b', 'heavy', 'light') order by j.claimed_at`,
  )
  return rows.map(({ tenant }) => tenant)
}

describe.each([1, 4])('over %i instances', (instances) => {
  test('N01: one job of B behind 5,000 of A starts within one round', { timeout: 120_000 }, async () => {
    await Promise.all(Array.from({ length: instances }, () => supervisor.start()))
    // Longer than 20 ms: nothing is claimed ahead.
    await supervisor.enqueue({ kind: 'slow', count: 5_000, payload: { ms: 40 }, tenant: 'a' })
    await until(async () => (await supervisor.count('done', 'slow')) > 20, 'A is at work')
    await supervisor.enqueue({ kind: 'slow', count: 1, payload: { ms: 40 }, tenant: 'b' })
    await until(async () => (await starts()).includes('b'), `B's job has started`)
    const [row] = await database.sql(`
      select count(*)::int as overtaken from mdm.aa_job a
        join mdm.aa_tenant t on t.id = a.tenant_id and t.tenant_key = 'a'
        join mdm.aa_job b on b.tenant_id = (select id from mdm.aa_tenant where tenant_key = 'b')
       where a.claimed_at > b.created_at and a.claimed_at <= b.claimed_at`)
    // What was claimed in the same moment, by statements that had begun before B's commit: as many as there are slots.
    expect(row!.overtaken).toBeLessThanOrEqual(2 * slots * instances)
  })

  test('weight 3 gets three times the starts', { timeout: 120_000 }, async () => {
    await supervisor.start().then(async (first) => {
      // So that no instance has a head start.
      first.signal('SIGTERM')
      await first.exited
    })
    await supervisor.enqueue(
      { kind: 'slow', count: 400, payload: { ms: 40 }, tenant: 'heavy' },
      { kind: 'slow', count: 400, payload: { ms: 40 }, tenant: 'light' },
    )
    await Promise.all(Array.from({ length: instances }, () => supervisor.start()))
    await until(async () => (await supervisor.count('done', 'slow')) > 300, 'enough have run')
    const first = (await starts()).slice(0, 280)
    const heavy = first.filter((tenant) => tenant === 'heavy').length
    expect(heavy / (first.length - heavy)).toBeGreaterThan(2.4)
    expect(heavy / (first.length - heavy)).toBeLessThan(3.6)
  })
})
