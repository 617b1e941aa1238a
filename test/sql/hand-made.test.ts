import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { discardJob } from '../../src/sql/discard-job.ts'
import { cancelJob } from '../../src/sql/cancel-job.ts'
import { failJobs } from '../../src/sql/fail-jobs.ts'
import { finishJobs } from '../../src/sql/finish-jobs.ts'
import { recoverStaleJobs } from '../../src/sql/recover-stale-jobs.ts'
import { replayJob } from '../../src/sql/replay-job.ts'
import { stopJob } from '../../src/sql/stop-job.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { until } from '../support/until.ts'
import { oldestServerMissing } from '../support/oldest-server.ts'
import { claimOf, journalOf, registerTestKinds, storedJob, testTenant, testWorker, type TestWorker } from './support.ts'

/** The seed's own texts; only $kinds, $tenants and $worker_id are numbered, for the driver's sake. */
const seedClaim = `
WITH next AS (
  SELECT id
  FROM mdm.AA_JOB
  WHERE status = 'pending'
    AND available_at <= now()
    AND job_kind = ANY($1)
    AND tenant_id = ANY($2)   -- optional, default: alle
  ORDER BY priority, available_at
  FOR UPDATE SKIP LOCKED
  LIMIT 1
)
UPDATE mdm.AA_JOB j
   SET status      = 'running',
       claimed_by  = $3,
       claimed_at  = now(),
       attempts    = attempts + 1
  FROM next
 WHERE j.id = next.id
RETURNING j.*;`

const seedRecovery = `
UPDATE mdm.AA_JOB
   SET status = 'pending',
       claimed_by = NULL,
       claimed_at = NULL,
       last_error = COALESCE(last_error, '') || ' [stale-claim recovered]'
 WHERE status = 'running'
   AND claimed_at < now() - INTERVAL '15 minutes';`

const actor = 'sql:postgres'

for (const version of [18, 16] as const) {
  describe(`on PostgreSQL ${version}`, () => {
    if (version === 16 && oldestServerMissing !== null) {
      leaveOut(oldestServerMissing)
      return
    }
    let database: TestDatabase
    let worker: TestWorker
    let tenantId: string
    beforeAll(async () => {
      database = await testDatabase({ version })
      await registerTestKinds(database.pool, ['seeded', 'followed'])
      worker = await testWorker(database.pool)
      tenantId = await testTenant(database)
    })
    afterAll(() => database.drop())

    const insert = async (columns: object = {}): Promise<string> => {
      const given = { tenant_id: tenantId, job_kind: 'seeded', ...columns }
      const names = Object.keys(given)
      const [row] = await database.sql<{ id: string }>(
        `insert into mdm.aa_job (${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')}) returning id`,
        Object.values(given),
      )
      return row!.id
    }
    const job = async (id: string) => (await storedJob(database, id))!
    const last = async (id: string) => (await journalOf(database, id)).at(-1)!
    const claimRowsOf = (id: string) =>
      database.sql<{ instance_id: string | null; lease: string }>(
        'select instance_id, lease::text from mdm.aa_claim where $1 = any (job_ids)',
        [id],
      )

    test('a job of no tenant is refused, and a tenant with jobs stays: nothing else holds the two together', async () => {
      await expect(insert({ tenant_id: '00000000-0000-7000-8000-000000000000' })).rejects.toMatchObject({
        code: '23503',
        message: "unknown tenant '00000000-0000-7000-8000-000000000000'; create it first",
      })
      const own = await testTenant(database)
      await insert({ tenant_id: own, status: 'done' })
      for (const move of ['delete from mdm.aa_tenant', 'update mdm.aa_tenant set id = mdm.uuid_v7()'])
        await expect(database.sql(`${move} where id = $1`, [own])).rejects.toMatchObject({
          code: '23001',
          hint: expect.stringContaining('Close it instead') as string,
        })
      await database.sql('delete from mdm.aa_job where tenant_id = $1', [own])
      await database.sql('delete from mdm.aa_tenant where id = $1', [own])
    })

    test.each([
      ['one by SQL', 'select from mdm.enqueue_job($1, $2, $3)'],
      [
        'several by the service',
        `select from mdm.enqueue_orders(array[$3::uuid], array[$1], '{}', concat_ws(E'\\n', $2::text, $2::text), '{}', '{}', '{}', '{}', '{}', '{}', '{}', 'ada', null)`,
      ],
    ])(
      'a tenant does not go while jobs of it are being enqueued, and none comes in while it goes: %s',
      async (_, text) => {
        const own = await testTenant(database)
        const enqueuer = await database.pool.connect()
        const remover = await database.pool.connect()
        const enqueue = () => enqueuer.query(text, ['seeded', '{}', own])
        const waits = (client: { readonly processID?: number | null }) =>
          until(
            async () =>
              (
                await database.sql(`select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`, [
                  client.processID,
                ])
              ).length > 0,
            'it waits',
          )
        try {
          await enqueuer.query('begin')
          await enqueue()
          const removed = remover
            .query('delete from mdm.aa_tenant where id = $1', [own])
            .catch((error: unknown) => error)
          await waits(remover as never)
          await enqueuer.query('commit')
          expect(await removed).toMatchObject({ code: '23001' })

          await database.sql('delete from mdm.aa_job where tenant_id = $1', [own])
          await remover.query('begin')
          await remover.query('delete from mdm.aa_tenant where id = $1', [own])
          const enqueued = enqueue().catch((error: unknown) => error)
          await waits(enqueuer as never)
          await remover.query('commit')
          expect(await enqueued).toMatchObject({
            message: expect.stringContaining(`unknown tenant '${own}'; create it first`) as string,
          })
        } finally {
          enqueuer.release()
          remover.release()
        }
      },
    )

    test('the seed’s claim and recovery run unchanged and are whole moves', async () => {
      const own = await testTenant(database)
      const id = await insert({ tenant_id: own })
      const { rows: brought } = await database.pool.query<{ id: string; status: string }>(seedClaim, [
        ['seeded'],
        [own],
        'hand/1/x',
      ])
      expect(brought).toMatchObject([{ id, status: 'running', attempts: 1, claimed_by: 'hand/1/x' }])
      const claimed = await job(id)
      expect(claimed).toMatchObject({
        status: 'running',
        revision: 1,
        claim_revision: 1,
        runs: 1,
        attempts: 1,
        claimed_by: 'hand/1/x',
      })
      expect(await claimRowsOf(id)).toEqual([{ instance_id: null, lease: claimed.lease }])
      // The claim alone writes no row.
      expect(await journalOf(database, id)).toHaveLength(1)
      expect((await database.pool.query(seedClaim, [['seeded'], [own], 'hand/1/x'])).rows).toEqual([])

      await database.sql(seedRecovery)
      expect((await job(id)).status).toBe('running')
      await database.sql(`update mdm.aa_job set claimed_at = now() - interval '16 minutes' where id = $1`, [id])
      await database.sql(seedRecovery)
      expect(await job(id)).toMatchObject({
        status: 'pending',
        revision: 2,
        lease: null,
        attempts: 1,
        claimed_by: null,
        claimed_at: null,
        last_error: ' [stale-claim recovered]',
      })
      expect(await last(id)).toMatchObject({ action: 'job_recovered', revision: 2, actor_principal_id: actor })
      // The late end of the recovered run finds another fence.
      expect(await finishJobs(database.pool, [id], [claimed.lease!], worker.id, [])).toEqual([{ id }])
      expect((await claimOf(database.pool, worker, own, ['seeded'])).rows[0]![0]).toBe(id)
    })

    test('a job inserted by hand is enqueued', async () => {
      const id = await insert()
      expect(await job(id)).toMatchObject({
        status: 'pending',
        revision: 0,
        deferred: false,
        lane: 0,
        enqueued_by: actor,
      })
      expect(await journalOf(database, id)).toMatchObject([
        { action: 'job_enqueued', revision: 0, actor_principal_id: actor },
      ])
      const later = await insert({ available_at: new Date(Date.now() + 3_600_000) })
      expect(await job(later)).toMatchObject({ deferred: true, lane: 1 })
    })

    test.each(['Mail Send', '', 'a'.repeat(64), 'größe'])(
      'the kind %j has no form of a name and is refused',
      async (kind) => {
        await expect(insert({ job_kind: kind })).rejects.toMatchObject({ code: '23514' })
      },
    )

    test('an insert that conflicts and does nothing journals nothing', async () => {
      const id = await insert({ idempotency_key: 'once' })
      await database.sql(
        `insert into mdm.aa_job (tenant_id, job_kind, idempotency_key) values ($1, 'seeded', 'once') on conflict do nothing`,
        [tenantId],
      )
      const rows = await database.sql(`select id from mdm.aa_job where idempotency_key = 'once'`)
      expect(rows).toEqual([{ id }])
      expect(await journalOf(database, id)).toHaveLength(1)
    })

    test('a job inserted as running is claimed, and recovered when it is stale', async () => {
      const id = await insert({
        status: 'running',
        claimed_by: 'hand/1/y',
        claimed_at: new Date(Date.now() - 3_600_000),
        attempts: 1,
      })
      const before = await job(id)
      expect(before).toMatchObject({ status: 'running', revision: 1, claim_revision: 1, runs: 1 })
      expect(before.lease).not.toBeNull()
      expect(await claimRowsOf(id)).toEqual([{ instance_id: null, lease: before.lease }])
      expect((await recoverStaleJobs(database.pool, 10)).map((row) => row.id)).toEqual([id])
      expect(await job(id)).toMatchObject({ status: 'pending', revision: 2, attempts: 1 })
      expect((await journalOf(database, id)).map(({ revision }) => revision)).toEqual([0, 2])
    })

    test('a claim made by hand that is old already is stale at once (F07)', async () => {
      const id = await insert()
      await database.sql(
        `update mdm.aa_job set status = 'running', attempts = 1, claimed_by = 'hand', claimed_at = now() - interval '20 minutes' where id = $1`,
        [id],
      )
      expect((await recoverStaleJobs(database.pool, 10)).map((row) => row.id)).toEqual([id])
    })

    test.each([
      ['dlq', { completed: true, dead: true }],
      ['failed', { completed: true, dead: true }],
      ['done', { completed: true, dead: false }],
    ] as const)('a job inserted as %s has its times', async (status, { completed, dead }) => {
      const row = await job(await insert({ status, last_error: 'no' }))
      expect({ completed: row.completed_at !== null, dead: row.dead_at !== null }).toEqual({ completed, dead })
    })

    test.each([
      ['running', 'done', 'job_done'],
      ['running', 'dlq', 'job_dlq'],
      ['running', 'failed', 'job_stop'],
      ['running', 'pending', 'job_recovered'],
      ['pending', 'dlq', 'job_dlq'],
      ['pending', 'failed', 'job_stop'],
      ['dlq', 'pending', 'job_replay'],
      ['dlq', 'failed', 'job_stop'],
      ['failed', 'pending', 'job_replay'],
      ['done', 'pending', 'job_replay'],
    ] as const)('by hand %s -> %s is %s', async (from, to, action) => {
      const id = await insert()
      if (from !== 'pending') await database.sql('update mdm.aa_job set status = $2 where id = $1', [id, from])
      const before = await job(id)
      const journaled = (await journalOf(database, id)).length
      await database.sql(`update mdm.aa_job set status = $2, last_error = 'by hand' where id = $1`, [id, to])
      const after = await job(id)
      expect(after).toMatchObject({
        status: to,
        revision: before.revision + 1,
        lease: null,
        lane: to === 'pending' ? 0 : null,
      })
      expect(after.completed_at !== null).toBe(to !== 'pending')
      expect(after.dead_at !== null).toBe(to === 'dlq' || to === 'failed')
      expect(after.stop_requested_at !== null).toBe(to === 'failed')
      const journal = await journalOf(database, id)
      expect(journal).toHaveLength(journaled + 1)
      expect(journal.at(-1)).toMatchObject({
        action,
        revision: before.revision + 1,
        actor_principal_id: actor,
        payload: { from },
      })
      const { attempt, run_ms } = journal.at(-1)!
      expect([attempt, typeof run_ms]).toEqual(from === 'running' ? [1, 'number'] : [null, 'object'])
    })

    test('revisions of moves by hand and of our own have no gap', async () => {
      const own = await testTenant(database)
      const id = await insert({ tenant_id: own })
      const { lease, claimId } = await claimOf(database.pool, worker, own, ['seeded'])
      await failJobs(
        database.pool,
        [id],
        [lease],
        worker.id,
        [claimId],
        [0],
        [false],
        ['E'],
        ['E'],
        [null],
        ['f'],
        [null],
      )
      await database.pool.query(seedClaim, [['seeded'], [own], 'hand'])
      await database.sql(`update mdm.aa_job set status = 'done' where id = $1`, [id])
      // 1 and 3 are the claims.
      expect((await journalOf(database, id)).map(({ revision, action }) => [revision, action])).toEqual([
        [0, 'job_enqueued'],
        [2, 'job_retry'],
        [4, 'job_done'],
      ])
    })

    test('R05: a waiting job at its limit of attempts is run, then dead', async () => {
      const own = await testTenant(database)
      const id = await insert({ tenant_id: own, attempts: 1_100, max_attempts: 5 })
      const { lease, rows } = await claimOf(database.pool, worker, own, ['seeded'])
      expect(rows[0]![4]).toBe(1_101)
      await failJobs(database.pool, [id], [lease], worker.id, [], [0], [false], ['E'], ['E'], [null], ['f'], [null])
      expect((await job(id)).status).toBe('dlq')
    })

    test.each([
      ['T06: a time without end', { available_at: 'infinity' }, 'available_at and created_at must be finite'],
      ['a priority', { priority: 1_001 }, 'priority 1001 is outside 0 to 1000'],
      ['a limit of attempts', { max_attempts: 0 }, 'max_attempts 0 is outside 1 to 100'],
      ['a payload', { payload: '[]' }, 'payload must be a JSON object'],
      ['a key', { idempotency_key: '' }, 'idempotency_key must have 1 to 255 characters'],
      ['a kind', { job_kind: 'No Kind' }, "job_kind 'No Kind' is no name of a kind"],
      [
        'a stop request',
        { stop_cause: 'stopped' },
        'stop_requested_at, stop_cause and stop_requested_by belong together',
      ],
      ['a cause', { stop_cause: 'x', stop_requested_at: 'now', stop_requested_by: 'x' }, "stop_cause is 'cancelled'"],
    ])('%s that no job can have is refused, new and changed by hand', async (_, columns: object, message) => {
      await expect(insert(columns)).rejects.toMatchObject({
        code: '23514',
        message: expect.stringContaining(message) as string,
      })
      const id = await insert()
      const before = await job(id)
      const names = Object.keys(columns).map((name, index) => `${name} = $${index + 2}`)
      await expect(
        database.sql(`update mdm.aa_job set ${names.join(', ')} where id = $1`, [id, ...Object.values(columns)]),
      ).rejects.toMatchObject({ code: '23514', message: expect.stringContaining(message) as string })
      expect(await job(id)).toEqual(before)
    })

    test('v_job_dlq shows what is dead, with error, payload and tenant', async () => {
      const id = await insert({ status: 'dlq', last_error: 'Error: no', payload: { a: 1 } })
      await insert({ status: 'failed' })
      const dead = await database.sql('select id, tenant_id, last_error, payload from mdm.v_job_dlq where id = $1', [
        id,
      ])
      expect(dead).toEqual([{ id, tenant_id: tenantId, last_error: 'Error: no', payload: { a: 1 } }])
      const others = await database.sql(
        `select from mdm.v_job_dlq v join mdm.aa_job j using (id) where j.status <> 'dlq'`,
      )
      expect(others).toEqual([])
    })

    describe('the journal', () => {
      test('is append-only, whole and by partition', async () => {
        await insert()
        const partitions = await database.sql<{ name: string }>(
          `select relid::regclass::text as name from pg_partition_tree('mdm.aa_audit_log') where isleaf`,
        )
        expect(partitions.length).toBeGreaterThan(1)
        const [holding] = await database.sql<{ name: string }>(
          `select tableoid::regclass::text as name from mdm.aa_audit_log limit 1`,
        )
        for (const name of ['mdm.aa_audit_log', holding!.name]) {
          await expect(database.sql(`update ${name} set reason = 'other'`)).rejects.toThrow(
            'append-only: update is refused',
          )
          await expect(database.sql(`delete from ${name}`)).rejects.toThrow('append-only: delete is refused')
        }
        for (const name of ['mdm.aa_audit_log', ...partitions.map((partition) => partition.name)]) {
          await expect(database.sql(`truncate ${name}`)).rejects.toThrow('append-only: truncate is refused')
        }
      })

      test('a month without a partition is caught by the default one, and is made no more', async () => {
        const far = `(date_trunc('month', now()) + interval '40 months 3 days')`
        await database.sql(
          `insert into mdm.aa_audit_log (at, tenant_id, action) values (${far}, $1, 'tenant_change')`,
          [tenantId],
        )
        const [row] = await database.sql<{ place: string }>(
          `select tableoid::regclass::text as place from mdm.aa_audit_log where at = ${far}`,
        )
        expect(row!.place).toBe('mdm_journal.aa_audit_log_default')
        const made = await database.sql<{ name: string; skipped: string }>(
          `select name, 'aa_audit_log_' || to_char(${far} at time zone 'UTC', 'YYYY_MM') as skipped from mdm.ensure_journal_partitions(41) name`,
        )
        const names = made.map(({ name }) => name)
        expect(names.length).toBeGreaterThan(30)
        expect(names).not.toContain(made[0]!.skipped)
        expect(await database.sql('select * from mdm.ensure_journal_partitions(41)')).toEqual([])
        await expect(database.sql(`truncate mdm_journal.${names.at(-1)}`)).rejects.toThrow('append-only')
      })

      test('each month leaves room for a second entry of a job, as those before do', async () => {
        await database.sql('select mdm.ensure_journal_partitions(3)')
        const indexes = await database.sql<{ month: string; room: string[] | null }>(
          `select x.indrelid::regclass::text as month, c.reloptions as room
             from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_index x on x.indexrelid = c.oid
            where i.inhparent = 'mdm.aa_audit_log_job'::regclass`,
        )
        expect(indexes.length).toBeGreaterThan(4)
        for (const { month, room } of indexes) expect(room, month).toEqual(['fillfactor=45'])
      })
    })

    describe('mdm.follow_<kind>', () => {
      const followed = async (id: string) =>
        (await database.sql<{ move: string }>('select move from followed where job_id = $1 order by nr', [id])).map(
          ({ move }) => move,
        )
      const followedJob = async () => insert({ tenant_id: await testTenant(database), job_kind: 'followed' })
      const admin = (id: string) => [id, null, null, 'user:ada', null, 'r'] as const

      beforeAll(async () => {
        await database.sql('create table followed (nr serial, job_id uuid, move text)')
        await database.sql(`create function mdm.follow_followed(job mdm.aa_job, move text) returns void language sql
          begin atomic insert into public.followed (job_id, move) values (job.id, move); end`)
      })

      test('follows our own moves', async () => {
        const id = await followedJob()
        const { lease, claimId } = await claimOf(database.pool, worker, (await job(id)).tenant_id as string, [
          'followed',
        ])
        expect(await followed(id)).toEqual([])
        await failJobs(
          database.pool,
          [id],
          [lease],
          worker.id,
          [claimId],
          [0],
          [true],
          ['E'],
          ['E'],
          [null],
          ['f'],
          [null],
        )
        await stopJob(database.pool, ...admin(id))
        await replayJob(database.pool, ...admin(id), null, null, null)
        await cancelJob(database.pool, ...admin(id))
        await discardJob(database.pool, ...admin(id))
        expect(await followed(id)).toEqual(['dlq', 'stop', 'replay', 'cancel', 'discard'])
      })

      test('follows moves made by hand, once each', async () => {
        const id = await followedJob()
        for (const status of ['running', 'dlq', 'failed', 'pending', 'running', 'done']) {
          await database.sql('update mdm.aa_job set status = $2 where id = $1', [id, status])
        }
        expect(await followed(id)).toEqual(['dlq', 'stop', 'replay'])
        await database.sql('delete from mdm.aa_job where id = $1', [id])
        // Retention of done jobs is no discard.
        expect(await followed(id)).toEqual(['dlq', 'stop', 'replay'])
      })

      test('what the follower refuses does not happen', async () => {
        const id = await followedJob()
        await database.sql('alter table followed add constraint no_stop check (move <> $$stop$$) not valid')
        await expect(stopJob(database.pool, ...admin(id))).rejects.toThrow('no_stop')
        expect((await job(id)).status).toBe('pending')
        await database.sql('alter table followed drop constraint no_stop')
      })
    })
  })
}
