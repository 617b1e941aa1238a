import { beforeAll, expect, test } from 'vitest'
import type { AuditFilterParams, AuditNews } from '../../src/events/watch-audit.ts'
import type { Stream } from '../../src/events/stream.ts'
import { until } from '../support/until.ts'
import { relayFixture, type TestRelay } from './relay-fixture.ts'

const fixture = relayFixture()
const { database } = fixture
let tenant: string
let other: string
beforeAll(async () => {
  const make = async (key: string) =>
    (
      await database().sql<{ id: string }>(
        'insert into mdm.aa_tenant (tenant_key, name) values ($1, $1) returning id',
        [key],
      )
    )[0]!.id
  tenant = await make('acme')
  other = await make('globex')
})

const actions = ['queue_pause', 'queue_resume', 'job_enqueued', 'job_done', 'api_key_change']
const all = (): AuditFilterParams => [[tenant], actions, null, null, null, null]

const watch = ({ relay }: TestRelay, after: string | null = null, match: () => AuditFilterParams | null = all) =>
  relay.watchAudit({ match, after })

/** A line of the audit log, with or without a job; answers its id. */
async function write(action = 'queue_pause', { tenantId = tenant, actor = 'user:ada' } = {}): Promise<string> {
  const [row] = await database().sql<{ id: string }>(
    `insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id) values ($1, $2::mdm.audit_action, $3) returning id`,
    [tenantId, action, actor],
  )
  return row!.id
}

async function take(stream: Stream<AuditNews>, count: number): Promise<AuditNews[]> {
  const rows: AuditNews[] = []
  while (rows.length < count) {
    const { value, done } = await stream.next()
    if (done === true) throw new Error('The stream ended too soon.')
    rows.push(value)
  }
  return rows
}
const idsOf = (rows: readonly AuditNews[]): string[] => rows.map(({ id }) => id)

test('tells what is written from now on, with or without a job', async () => {
  await write()
  const instance = fixture.newRelay(10_000)
  const stream = watch(instance)
  const first = stream.next()
  await until(
    () => instance.listeners() > 0 && instance.statements.includes('read_journal_tail'),
    'the relay has looked',
  )
  const ids = [await write(), await write('api_key_change')]
  const [job] = await database().sql<{ id: string }>(
    `insert into mdm.aa_job (tenant_id, job_kind) values ($1, 'chore') returning id`,
    [tenant],
  )
  instance.wake()
  const rows = [(await first).value!, ...(await take(stream, 2))]
  expect(idsOf(rows.slice(0, 2))).toEqual(ids)
  expect(rows[2]).toMatchObject({ action: 'job_enqueued', jobId: job!.id })
  await stream.return()
  expect(instance.relay.openStreams()).toBe(0)
  expect(instance.listeners()).toBe(0)
})

test('tells only what matches, asked anew for each read', async () => {
  const instance = fixture.newRelay()
  let match: AuditFilterParams | null = [[tenant], ['queue_pause'], ['user:ada'], null, null, null]
  const stream = watch(instance, await instance.relay.auditCursor(), () => match)
  await write('queue_resume')
  await write('queue_pause', { tenantId: other })
  await write('queue_pause', { actor: 'user:bob' })
  const id = await write('queue_pause')
  expect(idsOf(await take(stream, 1))).toEqual([id])
  match = null
  const next = stream.next()
  await write('queue_pause')
  await until(() => instance.relay.openGaps() === 0, 'the relay has looked')
  match = [[other], ['queue_pause'], null, null, null, null]
  const foreign = await write('queue_pause', { tenantId: other })
  expect((await next).value!.id).toBe(foreign)
  await stream.return()
})

test('goes on behind a line, at any instance, with a page full of lines before', async () => {
  const from = await fixture.newRelay().relay.auditCursor()
  const rows = await database().sql<{ id: string }>(
    `insert into mdm.aa_audit_log (tenant_id, action) select $1, 'queue_pause' from generate_series(1, 1201) returning id`,
    [tenant],
  )
  const ids = rows.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b))
  const first = watch(fixture.newRelay(), from)
  const begun = await take(first, 700)
  await first.return()
  const second = watch(fixture.newRelay(), begun.at(-1)!.streamCursor)
  expect(idsOf([...begun, ...(await take(second, 501))])).toEqual(ids)
  await second.return()
})

test('a line that commits late is told, not skipped, and is not told twice by a resume', async () => {
  const instance = fixture.newRelay()
  const from = await instance.relay.auditCursor()
  const late = await instance.pool.connect()
  await late.query('begin')
  const { rows } = await late.query<{ id: string }>(
    `insert into mdm.aa_audit_log (tenant_id, action) values ($1, 'queue_pause') returning id`,
    [tenant],
  )
  const early = await write()
  const stream = watch(instance, from)
  const [told] = await take(stream, 1)
  expect(told!.id).toBe(early)
  await stream.return()
  const resumed = watch(fixture.newRelay(), told!.streamCursor)
  const next = resumed.next()
  await late.query('commit')
  late.release()
  expect((await next).value!.id).toBe(rows[0]!.id)
  const last = await write()
  expect(idsOf(await take(resumed, 1))).toEqual([last])
  await resumed.return()
})

test('misses and doubles nothing over 40 cuts while eight writers commit, roll back and take their time', async () => {
  const relays = [fixture.newRelay(5), fixture.newRelay(5)]
  let cursor = await relays[0]!.relay.auditCursor()
  const committed: string[] = []
  const writer = async (seed: number): Promise<void> => {
    for (let turn = 0; turn < 25; turn += 1) {
      const client = await database().pool.connect()
      await client.query('begin')
      const { rows } = await client.query<{ id: string }>(
        `insert into mdm.aa_audit_log (tenant_id, action) select $1, 'queue_pause' from generate_series(1, 1 + $2::int % 3) returning id`,
        [tenant, seed + turn],
      )
      await client.query('select pg_sleep(random() * 0.02)')
      const keeps = (seed + turn) % 5 !== 0
      await client.query(keeps ? 'commit' : 'rollback')
      client.release()
      if (keeps) committed.push(...rows.map(({ id }) => id))
    }
  }
  const writing = Promise.all(Array.from({ length: 8 }, (_, seed) => writer(seed))).then(() => write('queue_resume'))
  const told: string[] = []
  let cuts = 0
  for (let isOver = false; !isOver; cuts += 1) {
    const stream = watch(relays[cuts % 2]!, cursor)
    const most = cuts < 40 ? 1 + (cuts % 13) : Infinity
    for (let taken = 0; taken < most && !isOver; taken += 1) {
      const [row] = await take(stream, 1)
      cursor = row!.streamCursor
      if (row!.action === 'queue_resume') isOver = true
      else told.push(row!.id)
    }
    await stream.return()
  }
  await writing
  expect(cuts).toBeGreaterThan(20)
  expect(new Set(told).size).toBe(told.length)
  expect(told.toSorted()).toEqual(committed.toSorted())
})

test('a cursor of another stream, and one that the journal does not reach, are refused', async () => {
  const instance = fixture.newRelay()
  const jobs = await instance.relay.streamCursor()
  for (const after of ['nonsense', jobs, 'audit.zzzzzzzzz.zzzz..'])
    await expect(watch(instance, after).next()).rejects.toMatchObject({ code: 'INVALID' })
  const cursor = await instance.relay.auditCursor()
  await expect(instance.ofJobs({ after: cursor }).next()).rejects.toMatchObject({ code: 'INVALID' })
  expect(instance.relay.openStreams()).toBe(0)
})

test('ends with the relay', async () => {
  const instance = fixture.newRelay()
  const stream = watch(instance)
  const next = stream.next()
  await instance.relay.stop()
  expect(await next).toEqual({ done: true, value: undefined })
})
