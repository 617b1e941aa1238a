import type { ExecutionResult } from 'graphql'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createQueueNumbers } from '../../src/events/queue-numbers.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { countJobsByState } from '../../src/sql/count-jobs-by-state.ts'
import { readQueueFlow } from '../../src/sql/read-queue-flow.ts'
import { readStatSeries } from '../../src/sql/read-stat-series.ts'
import type { Queryable } from '../../src/sql/statement.ts'
import { createRollup } from '../../src/workers/rollup.ts'
import { until } from '../support/until.ts'
import { admin, caller, codeOf, testApi, type TestApi } from './support.ts'

let api: TestApi
let acme: string
let other: string
beforeAll(async () => {
  api = await testApi()
  acme = await api.tenant('acme')
  other = await api.tenant('other')
})
afterAll(() => api.stop())
beforeEach(async () => {
  // Numbers are kept for a second: each test begins with its own.
  api.deps.queueNumbers.stop()
  Object.assign(api.deps, { queueNumbers: createQueueNumbers(api.deps.pools.api) })
})
afterEach(async () => {
  await api.sql('delete from mdm.aa_claim')
  await api.sql('truncate mdm.aa_job')
  await api.sql('truncate mdm.aa_stat_minute, mdm.aa_stat_sample')
  await api.sql(
    "update mdm.aa_stat_cursor set gaps = '{}', rolled_at = null, high = (select coalesce(max(id), 0) from mdm.aa_audit_log)",
  )
  // Old enough to be no news for the next test; the journal cannot be emptied.
  await api.sql('alter table mdm.aa_audit_log disable trigger aa_audit_log_append_only')
  await api.sql("update mdm.aa_audit_log set at = at - interval '10 minutes' where at > now() - interval '10 minutes'")
  await api.sql('alter table mdm.aa_audit_log enable trigger aa_audit_log_append_only')
})

/** Rows as our own statements leave them. */
const jobs = (count: number, tenant: string, columns: Record<string, unknown> = {}) => {
  const row = { tenant_id: tenant, job_kind: 'echo', revision: 1, ...columns }
  return api.sql(
    `insert into mdm.aa_job (${Object.keys(row).join(', ')})
     select ${Object.keys(row)
       .map((_, index) => `$${index + 2}`)
       .join(', ')} from generate_series(1, $1::int)`,
    [count, ...Object.values(row)],
  )
}
const journal = (count: number, tenant: string, columns: Record<string, unknown> = {}) => {
  const row = { tenant_id: tenant, job_kind: 'echo', action: 'job_done', wait_ms: 1_000, run_ms: 200, ...columns }
  return api.sql(
    `insert into mdm.aa_audit_log (${Object.keys(row).join(', ')})
     select ${Object.keys(row)
       .map((name, index) => `$${index + 2}${name === 'action' ? '::mdm.audit_action' : ''}`)
       .join(', ')} from generate_series(1, $1::int)`,
    [count, ...Object.values(row)],
  )
}
const rollUp = () => createRollup({ pool: api.pool, events: api.deps.events, everyMs: 1_000 }).runOnce()

const numbers =
  'pending scheduled running dlq failed oldestPendingSeconds donePerSecond errorsPerSecond enqueuedPerSecond throttledPerSecond wait { p50 p95 p99 } run { p50 p95 p99 }'
const asked = `query ($filter: QueueStatsFilter, $groupBy: [StatsDimension!]! = [KIND]) {
  queueStats(filter: $filter, groupBy: $groupBy) { at total { ${numbers} } rows { kind { name } tenant { key } ${numbers} } } }`
const stats = async (variables: Record<string, unknown> = {}, who = admin) => {
  const answer = await api.run(asked, variables, who)
  expect(answer.errors).toEqual([])
  return answer.data.queueStats
}

describe('queueStats', () => {
  const fill = async () => {
    await jobs(3, acme, { available_at: new Date(Date.now() - 90_000) })
    await jobs(2, acme, { job_kind: 'resize_image', deferred: true, available_at: '2100-01-01' })
    await jobs(4, other)
    await jobs(5, other, { status: 'dlq', dead_at: new Date() })
    await jobs(6, other, {
      status: 'failed',
      dead_at: new Date(),
      stop_requested_at: new Date(),
      stop_cause: 'stopped',
      stop_requested_by: 'user:x',
    })
    await jobs(1, acme, { status: 'running', lease: 7, claimed_at: new Date() })
    await jobs(9, acme, { status: 'done', completed_at: new Date() })
    await journal(30, acme)
    await journal(30, acme, { action: 'job_enqueued', wait_ms: null, run_ms: null })
    await journal(6, other, { action: 'job_retry', run_ms: 5_000, payload: { last_error: 'x' } })
    await journal(12, other, { action: 'job_released', payload: { cause: 'rate_limited', unstarted: true } })
  }

  test('counts, rates and times, in all and by kind', async () => {
    await fill()
    const { total, rows } = await stats()
    expect(total).toMatchObject({ pending: 7, scheduled: 2, running: 1, dlq: 5, failed: 6 })
    expect(total.oldestPendingSeconds).toBeGreaterThan(89)
    expect(total.oldestPendingSeconds).toBeLessThan(120)
    expect(total.donePerSecond).toBeCloseTo(0.5)
    // The running one was made by hand: its birth is in the journal.
    expect(total.enqueuedPerSecond).toBeCloseTo(31 / 60)
    expect(total.errorsPerSecond).toBeCloseTo(0.1)
    expect(total.throttledPerSecond).toBeCloseTo(0.2)
    // 1,000 ms lie between 768 and 1,024; 200 ms between 192 and 256; 5,000 ms between 4,096 and 6,144.
    expect(total.wait.p50).toBeGreaterThan(0.76)
    expect(total.wait.p99).toBeLessThan(1.03)
    expect(total.run.p50).toBeGreaterThan(0.19)
    expect(total.run.p50).toBeLessThan(0.26)
    expect(total.run.p99).toBeGreaterThan(4)
    expect(rows.find((row: Row) => row.kind!.name === 'resize_image')).toMatchObject({
      pending: 0,
      scheduled: 2,
      tenant: null,
    })
    expect(rows.find((row: Row) => row.kind!.name === 'cleanup_jobs')).toMatchObject({ pending: 0, run: { p50: null } })
  })

  test('the same before and after the rollup', async () => {
    await fill()
    const before = await stats({ groupBy: ['KIND', 'TENANT'] })
    await rollUp()
    Object.assign(api.deps, { queueNumbers: createQueueNumbers(api.deps.pools.api) })
    const after = await stats({ groupBy: ['KIND', 'TENANT'] })
    expect({ ...after, at: null, ages: null }).toMatchObject(withoutAge({ ...before, at: null }) as object)
  })

  test('narrowed down and broken down', async () => {
    await fill()
    const byTenant = await stats({ groupBy: ['TENANT'] })
    expect(byTenant.rows.map((row: Row) => [row.tenant!.key, row.pending])).toEqual(
      expect.arrayContaining([
        ['acme', 3],
        ['other', 4],
      ]),
    )
    expect(await stats({ filter: { kind: ['resize_image'] }, groupBy: [] })).toMatchObject({
      total: { pending: 0, scheduled: 2, donePerSecond: 0 },
      rows: [{ kind: null, tenant: null, scheduled: 2 }],
    })
    expect((await stats({ filter: { tenantId: ['tenant_other'] } })).total).toMatchObject({
      pending: 4,
      running: 0,
      dlq: 5,
    })
  })

  test('a caller sees the numbers of its own tenants, whatever it asks for', async () => {
    await fill()
    const mine = caller({ tenantIds: [acme] })
    expect((await stats({}, mine)).total).toMatchObject({ pending: 3, dlq: 0, failed: 0, errorsPerSecond: 0 })
    expect((await stats({ filter: { tenantId: ['other', 'acme'] } }, mine)).total).toMatchObject({ pending: 3, dlq: 0 })
    const { data } = await api.run('{ jobKind(name: "echo") { stats { pending dlq } } }', {}, mine)
    expect(data.jobKind.stats).toEqual({ pending: 3, dlq: 0 })
    const foreign = await api.run(
      '{ tenant(id: "tenant_acme") { stats { pending scheduled kind { name } tenant { key } } } }',
    )
    expect(foreign.data.tenant.stats).toEqual({ pending: 3, scheduled: 2, kind: null, tenant: { key: 'acme' } })
    const enqueuer = caller({ tenantIds: [acme], may: ['ENQUEUE_JOBS'] })
    expect(codeOf(await api.run('{ jobKinds { stats { pending } } }', {}, enqueuer))).toBe('FORBIDDEN')
  })

  test('the same numbers as the metrics', async () => {
    await fill()
    const metrics = createMetrics({
      events: api.deps.events,
      db: api.pool,
      subscriptions: () => 0,
      eventLagSeconds: () => null,
      eventGaps: () => 0,
      abandonedHandlers: () => 0,
    })
    const text = await metrics.scrape()
    metrics.stop()
    const { rows } = await stats({ groupBy: ['KIND', 'TENANT'] })
    for (const { kind, tenant, pending, scheduled, running, dlq } of rows as Row[]) {
      const of = (name: string) =>
        Number(
          new RegExp(`^${name}\\{tenant="${tenant!.key}",kind="${kind!.name}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0,
        )
      expect([pending + scheduled, running, dlq]).toEqual([
        of('mdm_jobs_pending'),
        of('mdm_jobs_running'),
        of('mdm_jobs_dlq'),
      ])
    }
    expect(rows.length).toBe(3)
  })

  test('the dead of one tenant do not hide those of another', async () => {
    await jobs(10_500, other, { status: 'dlq', dead_at: new Date() })
    await jobs(3, acme, { status: 'dlq', dead_at: new Date(Date.now() - 86_400_000) })
    expect((await stats({}, caller({ tenantIds: [acme] }))).total.dlq).toBe(3)
  })

  test('where a minute holds more than is looked at, the rate is that of the rollup', async () => {
    await journal(30_000, acme)
    await rollUp()
    const { total } = await stats()
    // All of it lies in the newest minute; it stands for one to two minutes.
    expect(total.donePerSecond).toBeGreaterThanOrEqual(30_000 / 120)
    expect(total.donePerSecond).toBeLessThanOrEqual(30_000 / 60)
    expect(total.run.p50).toBeLessThan(0.26)
  })
})

describe('jobMetrics', () => {
  const query = `query ($metrics: [JobMetric!]!, $range: DateTimeRangeInput, $step: Duration, $filter: QueueStatsFilter, $groupBy: [StatsDimension!]! = []) {
    jobMetrics(metrics: $metrics, range: $range, step: $step, filter: $filter, groupBy: $groupBy) { metric kind { name } tenant { key } points { at value } } }`
  const chart = (variables: Record<string, unknown>, who = admin) => api.run(query, variables, who)
  const sum = (points: readonly Point[]) => points.reduce((total, { value }) => total + (value ?? 0), 0)

  test('the last hour, with what is not rolled up yet', async () => {
    await journal(7, acme, { at: new Date(Date.now() - 20 * 60_000) })
    await rollUp()
    await journal(5, acme)
    await jobs(3, acme)
    const { data, errors } = await chart({ metrics: ['DONE', 'PENDING', 'RUN_P95', 'WAIT_P95'] })
    expect(errors).toEqual([])
    const [done, pending, run, wait] = data.jobMetrics
    expect(done.points.length).toBeGreaterThanOrEqual(60)
    expect(done.points.length).toBeLessThanOrEqual(61)
    expect(sum(done.points)).toBe(12)
    expect(done.points[0].value).toBeNull()
    expect(done.points.at(-1).value).not.toBeNull()
    expect(pending.points.at(-1).value).toBe(3)
    const measured = run.points.filter(({ value }: Point) => value !== null)
    expect(measured.length).toBeGreaterThan(0)
    for (const { value } of measured) expect(value).toBeGreaterThan(0.19)
    for (const { value } of measured) expect(value).toBeLessThan(0.26)
    expect(wait.points.some(({ value }: Point) => value !== null && value > 0.76)).toBe(true)
    const times = done.points.map(({ at }: Point) => Date.parse(at))
    expect(new Set(times.slice(1).map((time: number, i: number) => time - times[i]))).toEqual(new Set([60_000]))
  })

  test('a line for each group; of other tenants than the own there is none', async () => {
    await journal(7, acme)
    await journal(4, other, { job_kind: 'resize_image' })
    await rollUp()
    const both = (await chart({ metrics: ['DONE'], groupBy: ['KIND', 'TENANT'] })).data.jobMetrics
    expect(both.map((line: Line) => [line.kind!.name, line.tenant!.key, sum(line.points)])).toEqual([
      ['echo', 'acme', 7],
      ['resize_image', 'other', 4],
    ])
    const mine = (await chart({ metrics: ['DONE'], groupBy: ['TENANT'] }, caller({ tenantIds: [acme] }))).data
      .jobMetrics
    expect(mine.map((line: Line) => [line.tenant!.key, sum(line.points)])).toEqual([['acme', 7]])
    const none = await chart({ metrics: ['DONE'], filter: { tenantId: ['other'] } }, caller({ tenantIds: [acme] }))
    expect(sum(none.data.jobMetrics[0].points)).toBe(0)
  })

  test('pending is what was sampled, and at the end what is now', async () => {
    await jobs(4, acme)
    await rollUp()
    for (const table of ['aa_stat_minute', 'aa_stat_sample'])
      await api.sql(`update mdm.${table} set minute = minute - interval '5 minutes'`)
    await jobs(3, acme)
    const [line] = (await chart({ metrics: ['PENDING'], filter: { kind: ['echo'] } })).data.jobMetrics
    const measured = line.points.map(({ value }: Point) => value).filter((value: number | null) => value !== null)
    expect(measured).toEqual([4, 7])
  })

  test('spans and steps: 120 points unless a step is given, at most 500', async () => {
    const points = async (from: string, to: string, step?: string) =>
      (await chart({ metrics: ['DONE'], range: { from, to }, ...(step && { step }) })).data?.jobMetrics[0].points
    const day = await points('2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z')
    expect(day).toHaveLength(96)
    expect(day[1].at).toBe('2026-03-01T00:15:00.000Z')
    expect(await points('2026-03-01T00:00:00Z', '2026-03-01T08:20:00Z', 'PT1M')).toHaveLength(500)
    expect(await points('2026-03-01T00:00:30Z', '2026-03-01T00:01:30Z', 'PT1M')).toHaveLength(2)
    const refused = async (range: object, step: string | null = null) =>
      (await chart({ metrics: ['DONE'], range, step })).errors[0]?.message
    expect(await refused({ from: '2026-03-01T00:00:00Z', to: '2026-03-02T00:00:00Z' }, 'PT1M')).toContain(
      '1,440 points',
    )
    expect(await refused({ from: '2026-03-02T00:00:00Z', to: '2026-03-01T00:00:00Z' })).toContain('empty')
    expect(await refused({}, 'PT1S')).toContain('PT1M')
  })
})

describe('the subscription', () => {
  const watch =
    'subscription ($every: Duration! = "PT1S", $groupBy: [StatsDimension!]! = [KIND]) { queueStats(every: $every, groupBy: $groupBy) { at total { pending } } }'
  type Stream = AsyncGenerator<ExecutionResult<{ queueStats: { at: string; total: { pending: number } } }>>
  const open = async (variables = {}, who = admin) => (await api.subscribe(watch, variables, who)) as Stream
  const next = async (stream: Stream) => (await stream.next()).value.data!.queueStats

  test('at once, then at every tick; one measurement for all who watch', async () => {
    let readings = 0
    Object.assign(api.deps, { queueNumbers: createQueueNumbers(countingPool(api.deps.pools.api, () => readings++)) })
    const streams = await Promise.all(Array.from({ length: 10 }, () => open()))
    const mine = await open({}, caller({ tenantIds: [acme] }))
    const first = await Promise.all([...streams, mine].map(next))
    expect(new Set(first.map(({ at }) => at)).size).toBe(1)
    expect(readings).toBe(1)
    await jobs(2, other)
    const second = await Promise.all([...streams, mine].map(next))
    expect(new Set(second.map(({ at }) => at)).size).toBe(1)
    expect(second.map(({ total }) => total.pending)).toEqual([...Array.from({ length: 10 }, () => 2), 0])
    expect(readings).toBe(2)
    expect(api.deps.queueNumbers.openStreams()).toBe(11)
    for (const stream of [...streams, mine]) await stream.return(undefined)
    expect(api.deps.queueNumbers.openStreams()).toBe(0)
  })

  test('who leaves while it waits is let go at once', async () => {
    const stream = await open({ every: 'PT1M' })
    await next(stream)
    const waiting = stream.next()
    await stream.return(undefined)
    expect(await waiting).toMatchObject({ done: true })
    expect(api.deps.queueNumbers.openStreams()).toBe(0)
  })

  test('the end of the service ends it', async () => {
    const stream = await open({ every: 'PT1M' })
    await next(stream)
    const waiting = stream.next()
    api.deps.queueNumbers.stop()
    expect(await waiting).toMatchObject({ done: true })
    await until(() => api.deps.queueNumbers.openStreams() === 0, 'the stream is gone')
  })

  test('ticks lie one second to one minute apart', async () => {
    for (const every of ['PT0.5S', 'PT61S']) {
      const refused = (await api.subscribe(watch, { every })) as ExecutionResult
      expect(refused.errors?.[0]?.message).toContain('PT1S and PT1M')
    }
  })
})

describe('cost', () => {
  test('the same whatever the number of finished jobs, and no scan of jobs', async () => {
    await jobs(200, acme)
    await jobs(50, acme, { status: 'dlq', dead_at: new Date() })
    await journal(500, acme)
    await rollUp()
    const before = await costs()
    await jobs(40_000, acme, { status: 'done', completed_at: new Date() })
    await journal(40_000, acme)
    await api.sql('vacuum analyze mdm.aa_job')
    await rollUp()
    await journal(500, acme)
    const after = await costs()
    expect(after.flatMap(({ scans }) => scans)).toEqual([])
    expect(after[0]!.pages).toBeLessThan(before[0]!.pages * 1.5 + 50)
    // The journal's newest 10,000 ids at most: index pages and the rows behind them.
    expect(after[1]!.pages).toBeLessThan(13_000)
    expect(after[2]!.pages).toBeLessThan(13_000)
  })

  /** Pages read, and nodes that read jobs without an index. */
  const costs = async () => {
    const client = await api.pool.connect()
    const series = readStatSeries.text
      .replaceAll('$1', 'null::uuid[]')
      .replaceAll('$2', 'null::text[]')
      .replaceAll('$3', "(now() - interval '1 hour')")
      .replaceAll('$4', 'now()')
      .replaceAll('$5', '60')
      .replaceAll('$6', 'true')
      .replaceAll('$7', 'false')
    try {
      await client.query('begin; set local enable_seqscan = off; set local enable_bitmapscan = off')
      const all = []
      for (const text of [countJobsByState.text, readQueueFlow.text, series]) all.push(await look(client, text))
      return all
    } finally {
      await client.query('rollback')
      client.release()
    }
  }
})

interface Row {
  readonly kind: { readonly name: string } | null
  readonly tenant: { readonly key: string } | null
  readonly pending: number
  readonly scheduled: number
  readonly running: number
  readonly dlq: number
}
interface Point {
  readonly at: string
  readonly value: number | null
}
interface Line {
  readonly kind: { readonly name: string } | null
  readonly tenant: { readonly key: string } | null
  readonly points: readonly Point[]
}
interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

async function look(db: Queryable, text: string) {
  const { rows } = await db.query({ text: `explain (analyze, buffers, format json) ${text}` })
  const plan = (rows as [{ 'QUERY PLAN': [{ Plan: Plan }] }])[0]['QUERY PLAN'][0].Plan
  return { pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], scans: scansOf(plan) }
}

function scansOf(plan: Plan): string[] {
  const here = plan['Relation Name'] === 'aa_job' && !plan['Node Type'].includes('Index') ? [plan['Node Type']] : []
  return [...here, ...(plan.Plans ?? []).flatMap(scansOf)]
}

/** The oldest job grows older between two looks. */
function withoutAge(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, each: unknown) => (key === 'oldestPendingSeconds' ? undefined : each)))
}

function countingPool(pool: TestApi['deps']['pools']['api'], count: () => void): TestApi['deps']['pools']['api'] {
  return Object.assign(Object.create(pool) as typeof pool, {
    connect: () => {
      count()
      return pool.connect()
    },
  })
}
