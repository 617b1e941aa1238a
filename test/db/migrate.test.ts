import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrate, migrationStatus } from '../../src/db/migrate.ts'
import { emptyDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { oldestServerMissing } from '../support/oldest-server.ts'
import { until } from '../support/until.ts'

let dir: string
let url: string
let client: Client

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'stellwerk-migrations-'))
  url = await emptyDatabase()
  client = new Client({ connectionString: url })
  await client.connect()
})
afterEach(async () => {
  await client.end()
  await rm(dir, { recursive: true })
})

async function file(name: string, sql: string): Promise<void> {
  await mkdir(join(dir, name), { recursive: true })
  await writeFile(join(dir, name, 'migration.sql'), sql)
}

async function tables(): Promise<string[]> {
  const { rows } = await client.query(
    `select tablename from pg_tables where schemaname = 'public' and tablename not like '\\_%' order by 1`,
  )
  return rows.map((row) => row.tablename)
}

test('applies files in the order of their names, once', async () => {
  await file('0002_second', 'insert into first values (1)')
  await file('0001_first', 'create table first (id int);')
  expect(await migrate(url, { dir })).toEqual({ applied: ['0001_first', '0002_second'] })
  expect(await migrate(client, { dir })).toEqual({ applied: [] })
  expect((await client.query('select id from first')).rows).toEqual([{ id: 1 }])
})

test('writes the ledger as Prisma does', async () => {
  await file('0001_first', 'select 1')
  await migrate(url, { dir })
  const { rows } = await client.query('select * from public._prisma_migrations')
  expect(rows).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      checksum: '822ae07d4783158bc1912bb623e5107cc9002d519e1143a9c200ed6ee18b6d0f',
      migration_name: '0001_first',
      started_at: expect.any(Date),
      finished_at: expect.any(Date),
      rolled_back_at: null,
      logs: null,
      applied_steps_count: 1,
    },
  ])
})

test('four at once apply each file once', async () => {
  await file('0001_first', 'create table first (id int); insert into first values (1); select pg_sleep(0.2)')
  await file('0002_index', 'create index concurrently if not exists ix_first on first (id)')
  await file('0003_third', 'insert into first values (3)')
  const runs = await Promise.all([1, 2, 3, 4].map(() => migrate(url, { dir })))
  expect(runs.map(({ applied }) => applied.length).toSorted((a, b) => a - b)).toEqual([0, 0, 0, 3])
  expect((await client.query('select id from first order by id')).rows).toEqual([{ id: 1 }, { id: 3 }])
})

test('what a file sets for its session does not reach the next one', async () => {
  await file('0001_path', `create schema other; set search_path to other; create table inside (id int)`)
  await file('0002_outside', 'create table outside (id int)')
  await migrate(url, { dir })
  expect(await tables()).toEqual(['outside'])
})

describe('a file that fails', () => {
  test('leaves nothing of itself, names file, line and cause, and runs again when it is mended', async () => {
    await file('0001_good', 'create table good (id int)')
    await file(
      '0002_bad',
      `create table half (id int);\n\ninsert into half values (1);\ninsert into nowhere values (1);\n`,
    )
    await expect(migrate(url, { dir })).rejects.toThrow(
      new RegExp(`Migration 0002_bad failed at .*0002_bad/migration.sql:4: relation "nowhere" does not exist`),
    )
    expect(await tables()).toEqual(['good'])
    expect(await migrationStatus(url, { dir })).toEqual([
      { name: '0001_good', state: 'applied', appliedAt: expect.any(Date) },
      { name: '0002_bad', state: 'pending', appliedAt: null },
    ])
    await file('0002_bad', 'create table whole (id int)')
    expect(await migrate(url, { dir })).toEqual({ applied: ['0002_bad'] })
  })

  test('names the line also where PostgreSQL gives no position', async () => {
    await file(
      '0001_bad',
      `-- a comment; with a semicolon\ncreate table one (id int primary key);\n\ndo $$ begin\n  perform ';';\nend $$;\n\n/* another; */ insert into one\n  values (1), (1);\n`,
    )
    await expect(migrate(url, { dir })).rejects.toThrow(
      /migration.sql:8: duplicate key value[^\n]*\n {2}Key \(id\)=\(1\) already exists/,
    )
    expect(await tables()).toEqual([])
  })

  test('does not keep what comes before a BEGIN of its own', async () => {
    await file('0001_bad', 'begin; create table half (id int); select 1/0; commit;')
    await expect(migrate(client, { dir })).rejects.toThrow('division by zero')
    expect(await tables()).toEqual([])
  })

  test('gives the lock back', async () => {
    await file('0001_bad', 'select 1/0')
    await expect(migrate(client, { dir })).rejects.toThrow('division by zero')
    await file('0001_bad', 'select 1')
    expect(await migrate(url, { dir })).toEqual({ applied: ['0001_bad'] })
  })
})

test('an index that was built halfway is built anew', async () => {
  await file('0001_rows', 'create table rows (id int); insert into rows values (1), (1)')
  await file('0002_index', '-- one each\ncreate unique index concurrently if not exists ix_rows on rows (id)')
  await expect(migrate(url, { dir })).rejects.toThrow('could not create unique index')
  expect((await client.query(`select from pg_class where relname = 'ix_rows'`)).rowCount).toBe(0)

  // As a process leaves it that was killed in the middle of the build.
  await client.query('create unique index concurrently ix_rows on rows (id)').catch(() => {})
  await client.query('delete from rows')
  expect(await migrate(url, { dir })).toEqual({ applied: ['0002_index'] })
  expect((await client.query(`select indisvalid from pg_index where indexrelid = 'ix_rows'::regclass`)).rows).toEqual([
    { indisvalid: true },
  ])
})

test('what PostgreSQL runs in no transaction stands in a file of its own', async () => {
  await file('0001_rows', 'create table rows (id int); create index ix_rows on rows (id)')
  await file('0002_drop', 'drop index concurrently ix_rows;')
  expect(await migrate(url, { dir })).toEqual({ applied: ['0001_rows', '0002_drop'] })
  await file('0003_two', 'create index concurrently ix_a on rows (id); create index concurrently ix_b on rows (id)')
  await expect(migrate(url, { dir })).rejects.toThrow('cannot run inside a transaction block')
})

test('refuses a file that changed after it was applied', async () => {
  await file('0001_first', 'select 1')
  await migrate(url, { dir })
  await file('0001_first', 'select 2')
  await file('0002_second', 'create table second (id int)')
  await expect(migrate(url, { dir })).rejects.toThrow('migration 0001_first changed after being applied')
  expect(await tables()).toEqual([])
  expect((await migrationStatus(url, { dir })).map(({ name, state }) => [name, state])).toEqual([
    ['0001_first', 'changed'],
    ['0002_second', 'pending'],
  ])
})

test('refuses a database that is newer than the files', async () => {
  await file('0001_first', 'select 1')
  await file('0002_second', 'select 2')
  await migrate(url, { dir })
  await rm(join(dir, '0002_second'), { recursive: true })
  await expect(migrate(url, { dir })).rejects.toThrow('newer than this Stellwerk: it knows migration 0002_second')
  expect((await migrationStatus(url, { dir })).map(({ state }) => state)).toEqual(['applied', 'unknown'])
})

test('refuses what another tool began and never finished', async () => {
  await file('0001_first', 'select 1')
  await migrate(url, { dir })
  await client.query('update public._prisma_migrations set finished_at = null')
  await expect(migrate(url, { dir })).rejects.toThrow('begun by another tool and never finished')
})

test('refuses a folder whose name is not a number and words', async () => {
  await file(`1_x'; drop table y`, 'select 1')
  await expect(migrate(url, { dir })).rejects.toThrow('must be named like 0001_words')
})

test('the status of a database that was never migrated is pending throughout', async () => {
  await file('0001_first', 'select 1')
  expect(await migrationStatus(url, { dir })).toEqual([{ name: '0001_first', state: 'pending', appliedAt: null }])
})

test('waits for another holder of the lock without a blocked session', async () => {
  await file('0001_first', 'select 1')
  await client.query('select pg_advisory_lock(72707369)')
  const run = migrate(url, { dir })
  const others = `select state, query from pg_stat_activity where datname = current_database() and application_name = 'stellwerk migrate'`
  const waiting = await until(
    async () => (await client.query(others)).rows.find((row) => row.query.includes('pg_try_advisory_lock')),
    'the migration asks for the lock',
  )
  expect(waiting.query).toContain('pg_try_advisory_lock')
  expect((await client.query(`select from pg_locks where locktype = 'advisory' and not granted`)).rowCount).toBe(0)
  await client.query('select pg_advisory_unlock(72707369)')
  expect(await run).toEqual({ applied: ['0001_first'] })
})

describe.for([16, 18] as const)("O05: Stellwerk's own migrations on PostgreSQL %i", (version) => {
  if (version === 16 && oldestServerMissing) return leaveOut(oldestServerMissing)

  test('apply, and make the journal partitions of six months ahead', async () => {
    const target = await emptyDatabase({ version })
    expect((await migrate(target)).applied.length).toBeGreaterThan(0)
    expect((await migrationStatus(target)).every((row) => row.state === 'applied')).toBe(true)
    const own = new Client({ connectionString: target })
    await own.connect()
    const { rows } = await own.query(`
      select count(*)::int as months from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = 'mdm_journal' and relkind = 'r' and relname like 'aa\\_audit\\_log\\_2%'`)
    await own.end()
    expect(rows).toEqual([{ months: 7 }])
  })
})
