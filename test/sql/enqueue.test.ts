import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inTransaction } from '../../src/db/transaction.ts'
import { discardJob } from '../../src/sql/discard-job.ts'
import { finishJobs } from '../../src/sql/finish-jobs.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { leaveOut } from '../support/leave-out.ts'
import { oldestServerMissing } from '../support/oldest-server.ts'
import { until } from '../support/until.ts'
import { claimOf, journalOf, registerTestKinds, storedJob, testTenant, testWorker, type TestWorker } from './support.ts'

interface Answer {
  readonly job_id: string
  readonly outcome: string
}

for (const version of [18, 16] as const) {
  describe(`on PostgreSQL ${version}`, () => {
    if (version === 16 && oldestServerMissing !== null) {
      leaveOut(oldestServerMissing)
      return
    }
    let database: TestDatabase
    let worker: TestWorker
    let tenant: string
    beforeAll(async () => {
      database = await testDatabase({ version })
      await registerTestKinds(database.pool, ['mail'], { priority: 50, max_attempts: 3 })
      await registerTestKinds(database.pool, ['index'], { priority: 200 })
      worker = await testWorker(database.pool)
      tenant = await testTenant(database)
    })
    afterAll(() => database.drop())

    const one = async (given: string, values: readonly unknown[] = []): Promise<Answer> =>
      (await database.sql<{ job_id: string; outcome: string }>(`select * from mdm.enqueue_job(${given})`, values))[0]!
    const many = async (jobs: unknown): Promise<Answer[]> =>
      database.sql<{ job_id: string; outcome: string }>('select * from mdm.enqueue_jobs($1)', [JSON.stringify(jobs)])
    const job = async (id: string) => (await storedJob(database, id))!

    test('the kind’s defaults hold unless the caller says otherwise', async () => {
      const { job_id, outcome } = await one(`'mail', '{"to":"a"}'`)
      expect(outcome).toBe('created')
      const [own] = await database.sql<{ id: string }>(`select id from mdm.aa_tenant where tenant_key = 'default'`)
      expect(await job(job_id)).toMatchObject({
        tenant_id: own!.id,
        status: 'pending',
        priority: 50,
        max_attempts: 3,
        attempts: 0,
        revision: 1,
        lane: 0,
        idempotency_key: null,
        tags: null,
        enqueued_by: 'sql:postgres',
      })
      const given = await one(
        `kind => 'mail', payload => '{}', tenant => $1, idempotency_key => 'k', on_conflict => 'ignore', priority => 0,
         available_at => now() + interval '1 hour', max_attempts => 100, tags => array['red', 'blue'], correlation_id => 'order 7', notify => false`,
        [tenant],
      )
      expect(await job(given.job_id)).toMatchObject({
        tenant_id: tenant,
        priority: 0,
        max_attempts: 100,
        lane: 1,
        idempotency_key: 'k',
        tags: ['red', 'blue'],
        correlation_id: 'order 7',
      })
      expect((await journalOf(database, given.job_id))[0]).toMatchObject({
        action: 'job_enqueued',
        revision: 1,
        actor_principal_id: 'sql:postgres',
        payload: { available_at: expect.any(String) },
      })
    })

    test('an equal key: duplicate, duplicate_mismatch, updated', async () => {
      const enqueue = (payload: string, mode: string, rest = '') =>
        one(`'mail', $1, $2, 'same', $3 ${rest}`, [payload, tenant, mode])
      const first = await enqueue('{"a":1,"b":[1.0]}', 'ignore')
      expect(first.outcome).toBe('created')
      // D06: compared as values, not as text.
      expect(await enqueue('{"b": [1.0], "a": 1}', 'ignore')).toEqual({ ...first, outcome: 'duplicate' })
      expect(await enqueue('{"a":2}', 'ignore')).toEqual({ ...first, outcome: 'duplicate_mismatch' })
      expect(await job(first.job_id)).toMatchObject({ revision: 1, payload: { a: 1, b: [1] } })

      expect(await enqueue('{"a":3}', 'update', `, priority => 7, available_at => now() + interval '1 hour'`)).toEqual({
        ...first,
        outcome: 'updated',
      })
      expect(await job(first.job_id)).toMatchObject({ revision: 2, payload: { a: 3 }, priority: 7, lane: 1 })
      expect((await journalOf(database, first.job_id)).map(({ action }) => action)).toEqual([
        'job_enqueued',
        'job_updated',
      ])
      expect(await enqueue('{"a":3}', 'update')).toEqual({ ...first, outcome: 'updated' })
      expect(await job(first.job_id)).toMatchObject({ revision: 3, priority: 50, lane: 0 })
    })

    test('keys are compared exactly, and belong to tenant and kind', async () => {
      const other = await testTenant(database)
      const answers = [
        await one(`'mail', '{}', $1, 'Ä'`, [tenant]),
        await one(`'mail', '{}', $1, 'ä'`, [tenant]),
        await one(`'mail', '{}', $1, 'Ä '`, [tenant]),
        await one(`'mail', '{}', $1, 'A\u0308'`, [tenant]),
        await one(`'index', '{}', $1, 'Ä'`, [tenant]),
        await one(`'mail', '{}', $1, 'Ä'`, [other]),
      ]
      expect(new Set(answers.map(({ job_id }) => job_id)).size).toBe(6)
      expect(answers.every(({ outcome }) => outcome === 'created')).toBe(true)
    })

    test('a batch answers in order, with mixed modes and twins', async () => {
      const [there] = await many([{ kind: 'mail', payload: { v: 0 }, tenant, idempotency_key: 'z' }])
      const answers = await many([
        { kind: 'mail', payload: { v: 1 }, tenant, idempotency_key: 'b' },
        { kind: 'index', payload: {}, tenant },
        { kind: 'mail', payload: { v: 1 }, tenant, idempotency_key: 'b' },
        { kind: 'mail', payload: { v: 2 }, tenant, idempotency_key: 'b' },
        { kind: 'mail', payload: { v: 3 }, tenant, idempotency_key: 'b', on_conflict: 'update' },
        { kind: 'mail', payload: { v: 9 }, tenant, idempotency_key: 'z', on_conflict: 'update' },
        { kind: 'mail', payload: { v: 9 }, tenant, idempotency_key: 'a' },
        { kind: 'mail', payload: {}, tenant, idempotency_key: null, tags: ['x'], correlation_id: 'c' },
      ])
      expect(answers.map(({ outcome }) => outcome)).toEqual([
        'created',
        'created',
        'duplicate',
        'duplicate_mismatch',
        'updated',
        'updated',
        'created',
        'created',
      ])
      const [b, , ...twins] = answers
      expect(new Set([b!.job_id, ...twins.slice(0, 3).map(({ job_id }) => job_id)]).size).toBe(1)
      expect(answers[5]!.job_id).toBe(there!.job_id)
      expect(await job(b!.job_id)).toMatchObject({ payload: { v: 3 }, revision: 2 })
      expect(await job(there!.job_id)).toMatchObject({ payload: { v: 9 }, revision: 2 })
      expect((await journalOf(database, b!.job_id)).map(({ action }) => action)).toEqual([
        'job_enqueued',
        'job_updated',
      ])
      expect(await many([])).toEqual([])
    })

    const deep = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const ofBytes = (bytes: number) => `{"a": "${'x'.repeat(bytes - 9)}"}`

    test.each([
      ['an unknown kind', `'nowhere', '{}'`, /unknown kind 'nowhere'; known: .*\bindex, .*\bmail\b/],
      ['no kind', `null, '{}'`, /unknown kind NULL/],
      ['an unknown tenant', `'mail', '{}', 'nobody'`, /unknown tenant 'nobody'; create it first/],
      ['no tenant', `'mail', '{}', null`, /unknown tenant/],
      ['no payload', `'mail', null`, /payload must be a JSON object/],
      ['a payload that is a list', `'mail', '[]'`, /payload must be a JSON object/],
      ['a payload of null', `'mail', 'null'`, /payload must be a JSON object/],
      ['a payload 33 deep', `'mail', '${deep(33)}'`, /deeper than 32/],
      ['a payload of 65,537 bytes', `'mail', '${ofBytes(65_537)}'`, /65537 bytes; at most 65536/],
      ['a priority below 0', `'mail', '{}', priority => -1`, /priority -1 is outside 0 to 1000/],
      ['a priority above 1,000', `'mail', '{}', priority => 1001`, /priority 1001 is outside 0 to 1000/],
      ['no attempts', `'mail', '{}', max_attempts => 0`, /max_attempts 0 is outside 1 to 100/],
      ['101 attempts', `'mail', '{}', max_attempts => 101`, /max_attempts 101 is outside 1 to 100/],
      ['a time without end', `'mail', '{}', available_at => 'infinity'`, /available_at must lie between/],
      ['a time before all', `'mail', '{}', available_at => '-infinity'`, /available_at must lie between/],
      ['a time before 1970', `'mail', '{}', available_at => '1969-12-31'`, /available_at must lie between/],
      [
        'a time in two years',
        `'mail', '{}', available_at => now() + interval '2 years'`,
        /available_at must lie between/,
      ],
      ['an empty key', `'mail', '{}', idempotency_key => ''`, /1 to 255 characters/],
      ['a key of 256', `'mail', '{}', idempotency_key => repeat('k', 256)`, /1 to 255 characters/],
      [
        'another conflict mode',
        `'mail', '{}', on_conflict => 'replace'`,
        /on_conflict must be 'ignore' or 'update', not 'replace'/,
      ],
      ['17 tags', `'mail', '{}', tags => array_fill('t'::text, array[17])`, /at most 16/],
      ['a tag of 65', `'mail', '{}', tags => array[repeat('t', 65)]`, /at most 16 of 1 to 64/],
      ['an empty tag', `'mail', '{}', tags => array['']`, /at most 16 of 1 to 64/],
      ['a tag of null', `'mail', '{}', tags => array[null::text]`, /at most 16 of 1 to 64/],
      ['a correlation id of 201', `'mail', '{}', correlation_id => repeat('c', 201)`, /more than 200 characters/],
    ])('%s is refused, and says why', async (_, given, message) => {
      const before = await database.sql('select count(*)::int as jobs from mdm.aa_job')
      await expect(one(given)).rejects.toMatchObject({ code: '22023', message: expect.stringMatching(message) })
      expect(await database.sql('select count(*)::int as jobs from mdm.aa_job')).toEqual(before)
    })

    test.each([
      ['32 deep', `'mail', '${deep(32)}'`],
      ['65,536 bytes', `'mail', '${ofBytes(65_536)}'`],
      ['wide but flat', `'mail', '{"a":[${'[],'.repeat(100)}[]]}'`],
      ['brackets in text', `'mail', '{"a":"${'['.repeat(100)}"}'`],
      [
        'the ends of every range',
        `'mail', '{}', priority => 1000, max_attempts => 1, available_at => '1970-01-01T00:00:00Z', idempotency_key => repeat('ä', 255), correlation_id => repeat('c', 200), tags => array_fill(repeat('t', 64), array[16])`,
      ],
      ['no tags', `'mail', '{}', tags => null`],
      ['no conflict mode, which is ignore', `'mail', '{}', on_conflict => null`],
    ])('%s is allowed', async (_, given) => {
      expect((await one(given)).outcome).toBe('created')
    })

    test('a bad job in a batch is named, and none is written', async () => {
      const before = await database.sql('select count(*)::int as jobs from mdm.aa_job')
      await expect(
        many([
          { kind: 'mail', payload: {} },
          { kind: 'mail', payload: {}, priority: 2_000 },
        ]),
      ).rejects.toMatchObject({
        message: 'job 2 of the batch: priority 2000 is outside 0 to 1000',
        detail: '1',
      })
      await expect(
        many([
          { kind: 'mail', payload: {} },
          { kind: 'mail', payload: {}, tenant: 'nobody' },
        ]),
      ).rejects.toThrow(`job 2 of the batch: unknown tenant 'nobody'`)
      await expect(many([{ kind: 'mail', payload: {} }, 7])).rejects.toThrow('job 2 of the batch: must be an object')
      await expect(many([{ kind: 'mail', payload: {}, on_conflict: 'other' }])).rejects.toThrow('job 1 of the batch')
      await expect(many({})).rejects.toThrow('must be a JSON array')
      await expect(many([{ kind: 'mail' }])).rejects.toThrow('payload must be a JSON object')
      expect(await database.sql('select count(*)::int as jobs from mdm.aa_job')).toEqual(before)
    })

    test.each([
      ['without keys', false],
      ['with keys', true],
    ])('a batch of several tenants and kinds is journaled as it was given, %s', async (_, keyed) => {
      const other = await testTenant(database)
      const jobs = Array.from({ length: 600 }, (_, i) => ({
        kind: i % 3 === 0 ? 'index' : 'mail',
        payload: { i },
        tenant: i % 2 === 0 ? tenant : other,
        ...(keyed ? { idempotency_key: `in order ${(i * 7) % 600}` } : {}),
      }))
      const given = (await many(jobs)).map((answer) => answer.job_id)
      const told = await database.sql<{ job_id: string }>(
        `select job_id from mdm.aa_audit_log where job_id = any ($1) and action = 'job_enqueued' order by id`,
        [given],
      )
      expect(told.map((entry) => entry.job_id)).toEqual(given)
    })

    test('of several bad jobs of a batch the first is named', async () => {
      const bad = { kind: 'mail', payload: {}, priority: 5_000 }
      const jobs = Array.from({ length: 300 }, (_, i) => ({
        ...(i < 3 ? { kind: 'mail', payload: {} } : bad),
        tenant: i % 2 === 0 ? tenant : 'default',
      }))
      await expect(many(jobs)).rejects.toThrow('job 4 of the batch')
    })

    test('a closed tenant takes no jobs', async () => {
      const closed = await testTenant(database)
      await database.sql(`update mdm.aa_tenant set status = 'closed' where id = $1`, [closed])
      await expect(one(`'mail', '{}', $1`, [closed])).rejects.toThrow(/is closed; open it first/)
    })

    test('I01: 50 at once with one key are one job', async () => {
      for (const mode of ['ignore', 'update']) {
        const answers = await Promise.all(
          Array.from({ length: 50 }, () =>
            one(`'mail', '{"a":1}', $1, $2, $2`.replace(/\$2$/, '$3'), [tenant, `i01 ${mode}`, mode]),
          ),
        )
        expect(new Set(answers.map(({ job_id }) => job_id)).size).toBe(1)
        const outcomes = answers.map(({ outcome }) => outcome).toSorted()
        expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1)
        expect(outcomes.filter((outcome) => outcome === (mode === 'ignore' ? 'duplicate' : 'updated'))).toHaveLength(49)
        const journal = await journalOf(database, answers[0]!.job_id)
        expect(journal.map(({ revision }) => revision)).toEqual(
          Array.from({ length: mode === 'ignore' ? 1 : 50 }, (__, index) => index + 1),
        )
        expect(journal.filter(({ action }) => action === 'job_enqueued')).toHaveLength(1)
      }
    })

    test('P06: bulks of equal keys in opposite orders do not deadlock', async () => {
      for (let round = 0; round < 10; round += 1) {
        const bulk = Array.from({ length: 200 }, (_, index) => ({
          kind: index % 2 ? 'mail' : 'index',
          payload: {},
          tenant,
          idempotency_key: `bulk ${round} ${index}`,
        }))
        const answers = await Promise.all(
          [0, 1, 2, 3].map((nr) => {
            const jobs = bulk.map((each) => ({ ...each, on_conflict: nr > 1 ? 'update' : 'ignore' }))
            return many(nr % 2 ? jobs.toReversed() : jobs)
          }),
        )
        const ids = answers.map((each, nr) => (nr % 2 ? each.toReversed() : each).map(({ job_id }) => job_id))
        for (const each of ids.slice(1)) expect(each).toEqual(ids[0])
        expect(answers.flat().filter(({ outcome }) => outcome === 'created')).toHaveLength(200)
      }
    })

    test('I04: a key is taken as long as the job is there, whatever its status; discard frees it', async () => {
      const own = await testTenant(database)
      const enqueue = (mode = 'ignore') => one(`'mail', '{"n":1}', $1, 'held', $2`, [own, mode])
      const first = await enqueue()
      const { lease, claimId } = await claimOf(database.pool, worker, own, ['mail'])
      // It runs: what it was given is not replaced.
      expect(await one(`'mail', '{"n":2}', $1, 'held', 'update'`, [own])).toEqual({
        ...first,
        outcome: 'duplicate_mismatch',
      })
      await finishJobs(database.pool, [first.job_id], [lease], worker.id, [claimId])
      expect(await enqueue()).toEqual({ ...first, outcome: 'duplicate' })
      expect(await enqueue('update')).toEqual({ ...first, outcome: 'duplicate' })
      for (const status of ['dlq', 'failed']) {
        await database.sql('update mdm.aa_job set status = $2 where id = $1', [first.job_id, status])
        expect(await enqueue()).toEqual({ ...first, outcome: 'duplicate' })
      }
      await discardJob(database.pool, first.job_id, null, null, 'user:ada', null, 'r')
      const second = await enqueue()
      expect(second.outcome).toBe('created')
      expect(second.job_id).not.toBe(first.job_id)
    })

    test('a role needs the use of the schema and no other right, and is the actor', async () => {
      const user = `clerk_${new URL(database.url).pathname.slice(6)}`
      await database.sql(`create role ${user} login`)
      await database.sql(`grant usage on schema mdm to ${user}`)
      const url = new URL(database.url)
      url.username = user
      const client = new Client({ connectionString: url.href })
      await client.connect()
      const { rows } = await client.query<Answer>(
        `select * from mdm.enqueue_job('mail', '{}', idempotency_key => 'of the clerk')
         union all select * from mdm.enqueue_jobs('[{"kind": "mail", "payload": {}}, {"kind": "mail", "payload": {}, "idempotency_key": "of the clerk"}]')`,
      )
      await expect(client.query('select from mdm.aa_job')).rejects.toThrow('permission denied')
      await client.end()
      expect(rows.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'duplicate'])
      for (const { job_id } of rows) {
        expect(await job(job_id)).toMatchObject({ enqueued_by: `sql:${user}` })
        expect((await journalOf(database, job_id))[0]).toMatchObject({ actor_principal_id: `sql:${user}` })
      }
      await database.sql(`drop owned by ${user}`)
      await database.sql(`drop role ${user}`)
    })

    test('a job exists if and only if its transaction commits; one NOTIFY comes at the commit (P05)', async () => {
      const heard: string[] = []
      const listener = new Client({ connectionString: database.url })
      await listener.connect()
      listener.on('notification', ({ payload }) => heard.push(payload ?? ''))
      await listener.query('listen mdm_wakeup')

      await inTransaction(database.pool, async (tx) => {
        for (let count = 0; count < 10; count += 1) await tx.query(`select mdm.enqueue_job('mail', '{}')`)
        await tx.query(`select mdm.enqueue_jobs('[{"kind":"mail","payload":{}}]')`)
        await listener.query('select 1')
        expect(heard).toEqual([])
      })
      await until(() => heard.length > 0, 'the notification came')

      const rolledBack = inTransaction(database.pool, async (tx) => {
        await tx.query(`select mdm.enqueue_job('mail', '{"never":true}')`)
        throw new Error('no')
      })
      await expect(rolledBack).rejects.toThrow('no')
      await one(`'mail', '{}', notify => false`)
      await database.sql(`select mdm.enqueue_jobs('[{"kind":"mail","payload":{}}]', notify => false)`)
      await database.sql(`select pg_notify('mdm_wakeup', 'last')`)
      await until(() => heard.includes('last'), 'the last notification came')
      expect(heard).toEqual(['', 'last'])
      expect(await database.sql(`select from mdm.aa_job where payload ? 'never'`)).toEqual([])
      await listener.end()
    })
  })
}
