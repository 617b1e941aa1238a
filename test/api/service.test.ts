import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { scopes } from '../../src/jobs/permissions.ts'
import { readWarningFacts } from '../../src/sql/read-warning-facts.ts'
import { until } from '../support/until.ts'
import { admin, caller, testApi, type TestApi } from './support.ts'

let api: TestApi
beforeAll(async () => {
  api = await testApi()
})
afterAll(() => api.stop())
afterEach(() => api.sql('delete from mdm.aa_instance'))

async function service(as = admin) {
  const answer = await api.run(
    `{ service { version bus databaseLatencySeconds streamLagSeconds warnings instances { id version } pauses { id reason } } }`,
    {},
    as,
  )
  expect(answer.errors).toEqual([])
  return answer.data.service
}

/** A living instance with a pool that serves these kinds. */
async function instance(kinds: readonly string[] | null = null): Promise<string> {
  const id = randomUUID()
  await api.sql(`insert into mdm.aa_instance (id, host, pid, version) values ($1, 'here', 1, '1.2.3')`, [id])
  await api.sql(
    `insert into mdm.aa_worker (instance_id, name, pool, slots, kinds, dispatch) values ($1, $2, 'default', 4, $3, 'fair')`,
    [id, `here/1/${id}`, kinds],
  )
  return id
}

const job = () =>
  api.sql<{ id: string }>(
    `insert into mdm.aa_job (tenant_id, job_kind) select id, 'echo' from mdm.aa_tenant where tenant_key = 'default' returning id`,
  )

test('says what runs, what is paused and how far away the database is', async () => {
  const id = await instance()
  await api.run(`mutation { pauseQueue(input: { queue: { kind: "echo" }, reason: "rest" }) { errors { code } } }`)
  const told = await service()
  expect(told).toMatchObject({
    version: '0.0.0-test',
    bus: 'POSTGRES',
    streamLagSeconds: 0,
    instances: [{ id: `instance_${id}`, version: '1.2.3' }],
    pauses: [{ reason: 'rest' }],
  })
  expect(told.databaseLatencySeconds).toBeGreaterThan(0)
  expect(told.databaseLatencySeconds).toBeLessThan(5)
  await api.run(`mutation { resumeQueue(input: { queue: { kind: "echo" } }) { errors { code } } }`)
})

test('warns of kinds without workers, of other defaults, and of rows outside the months', async () => {
  const quiet = (await service()).warnings
  await job()
  await instance(['resize_image'])
  await api.sql(`update mdm.aa_job_kind set max_attempts = 99 where name = 'resize_image'`)
  await api.sql(
    `insert into mdm.aa_audit_log (tenant_id, action, at) select id, 'tenant_change', '2001-01-01' from mdm.aa_tenant where tenant_key = 'default'`,
  )
  const { warnings } = await service()
  expect(quiet).toEqual([])
  expect(warnings).toEqual([
    expect.stringMatching(/^The kind resize_image has other defaults/),
    expect.stringMatching(/^Jobs of the kind echo are due, but no worker serves it/),
    expect.stringMatching(/^1 rows? of the journal/),
  ])
  await instance(['echo'])
  expect((await service()).warnings).toHaveLength(2)
  expect(
    (await service(caller({ tenantIds: 'all', may: scopes.filter((scope) => scope !== 'OPERATE_PLATFORM') }))).warnings,
  ).toEqual([])
})

test('finds the session that holds a snapshot', async () => {
  const holder = await api.pool.connect()
  await holder.query('begin isolation level repeatable read')
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid, count(*) from mdm.aa_job')
  const held = async () => (await readWarningFacts(api.pool, 30_000, 1))[0]!.held
  expect(await until(held, 'the snapshot is old enough')).toMatchObject({
    pid: rows[0]!.pid,
    seconds: expect.any(Number),
  })
  expect((await readWarningFacts(api.pool, 30_000, 60_000))[0]!.held).toBeNull()
  await holder.query('rollback')
  holder.release()
})

test('warns of a lost LISTEN', async () => {
  const before = (await service()).warnings
  const { wakeup } = api.deps
  const real = wakeup.isConnected
  const kill = () =>
    api.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'stellwerk listen'`,
    )
  expect(await kill()).toHaveLength(1)
  // It is back within 100 ms, on a slow machine before anybody has looked: then it is lost once more.
  const told = await until(async () => {
    const fresh = (await service()).warnings.filter((each: string) => !before.includes(each))
    if (fresh.length === 0 && real()) await kill()
    return fresh.length > 0 && fresh
  }, 'the loss is told')
  expect(told).toEqual([expect.stringMatching(/LISTEN is away/)])
  await until(() => real(), 'the connection is back')
})

test('instances are told at once, then when something changes', async () => {
  const first = await instance()
  const stream = (await api.subscribe('subscription { instances { id workers { id } } }')) as AsyncGenerator<{
    data: { instances: { id: string }[] }
  }>
  const next = async () => (await stream.next()).value.data.instances.map(({ id }: { id: string }) => id)
  const startedAt = performance.now()
  expect(await next()).toEqual([`instance_${first}`])
  const second = await instance()
  expect(await next()).toEqual([`instance_${first}`, `instance_${second}`])
  expect(performance.now() - startedAt).toBeGreaterThan(900)
  const [claimed] = await job()
  const changed = next()
  await api.sql(
    `update mdm.aa_job set status = 'running', attempts = 1, claimed_by = $2, lease = 5, revision = revision + 1, claim_revision = revision + 1, claimed_at = now() where id = $1`,
    [claimed!.id, `here/1/${first}`],
  )
  await api.sql(`insert into mdm.aa_claim (instance_id, lease, job_ids) values ($1, 5, array[$2::uuid])`, [
    first,
    claimed!.id,
  ])
  expect(await changed).toHaveLength(2)
  await stream.return(undefined)
  expect(api.deps.relay.openStreams()).toBe(0)
})

test('new lines of the audit log come by subscription, from the position of a read on', async () => {
  const page = async () =>
    (await api.run('{ auditLog(first: 1) { streamCursor nodes { id streamCursor } } }')).data.auditLog
  const { streamCursor } = await page()
  const suppress = (address: string) =>
    api.run(`mutation($address: String!) { addSuppression(input: { address: $address }) { errors { code } } }`, {
      address,
    })
  const read = async (after: string, action?: string) => {
    const stream = (await api.subscribe(
      'subscription($after: String, $action: [AuditAction!]) { auditLog(after: $after, filter: { action: $action }) { id action actor { id } streamCursor } }',
      { after, action },
    )) as AsyncGenerator<{ data: { auditLog: { id: string; action: string; streamCursor: string } } }>
    const { value } = await stream.next()
    await stream.return(undefined)
    return value.data.auditLog
  }
  await suppress('one@example.org')
  await suppress('two@example.org')
  const one = await read(streamCursor)
  const two = await read(one.streamCursor)
  expect([one.action, two.action]).toEqual(['SUPPRESSION_ADD', 'SUPPRESSION_ADD'])
  expect((await page()).nodes).toEqual([{ id: two.id, streamCursor: null }])
  await api.run(`mutation { pauseQueue(input: { queue: { kind: "echo" } }) { errors { code } } }`)
  expect((await read(streamCursor, 'QUEUE_PAUSE')).action).toBe('QUEUE_PAUSE')
  const refused = await api.subscribe('subscription { auditLog(after: "jobs.x") { id } }')
  expect('errors' in refused && refused.errors).toMatchObject([{ message: expect.stringContaining('auditLog') }])
})
