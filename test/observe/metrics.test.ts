import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createEvents } from '../../src/jobs/event.ts'
import type { Event } from '../../src/jobs/event.ts'
import { createMetrics } from '../../src/observe/metrics.ts'
import { countJobsByState } from '../../src/sql/count-jobs-by-state.ts'
import type { Queryable } from '../../src/sql/statement.ts'
import { testDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'

const gone: Queryable = { query: () => Promise.reject(new Error('connection refused')) }

describe('what events tell', () => {
  const job = { id: 'a', kind: 'email_send', tenantId: 't', attempts: 1 }
  const end = { run: job, durationMs: 40, error: null, retryAt: null, release: null }

  test('claims fill the histograms of latency and wait', async () => {
    const { events, scrape } = listen()
    events.emit({
      type: 'jobs:claimed',
      worker: 'w',
      jobs: [
        { ...job, createdMs: 0, availableMs: 1_995, claimedMs: 2_000 },
        { ...job, createdMs: 0, availableMs: 199_999_994, claimedMs: 200_000_000 },
      ],
    })
    const series = await scrape()
    expect(series.get('mdm_jobs_claim_latency_seconds_bucket{le="1",kind="email_send"}')).toBe(0)
    expect(series.get('mdm_jobs_claim_latency_seconds_bucket{le="2.5",kind="email_send"}')).toBe(1)
    expect(series.get('mdm_jobs_claim_latency_seconds_bucket{le="86400",kind="email_send"}')).toBe(1)
    expect(series.get('mdm_jobs_claim_latency_seconds_bucket{le="+Inf",kind="email_send"}')).toBe(2)
    expect(series.get('mdm_jobs_claim_latency_seconds_sum{kind="email_send"}')).toBe(200_002)
    expect(series.get('mdm_jobs_claim_latency_seconds_count{kind="email_send"}')).toBe(2)
    // A bound belongs to its bucket.
    expect(series.get('mdm_jobs_wait_seconds_bucket{le="0.005",kind="email_send"}')).toBe(1)
    expect(series.get('mdm_jobs_wait_seconds_bucket{le="0.01",kind="email_send"}')).toBe(2)
  })

  test('ends count by outcome, and their time', async () => {
    const { events, scrape } = listen()
    const outcomes = ['success', 'success', 'retry', 'dlq', 'stopped', 'released'] as const
    events.emit({ type: 'jobs:ended', worker: 'w', ends: outcomes.map((outcome) => ({ ...end, outcome })) })
    const series = await scrape()
    expect(attempts(series)).toEqual({ success: 2, retry: 1, dlq: 1, stopped: 1, released: 1, recovered: 0 })
    expect(series.get('mdm_jobs_processing_seconds_bucket{le="0.05",kind="email_send"}')).toBe(6)
    expect(series.get('mdm_jobs_processing_seconds_bucket{le="0.025",kind="email_send"}')).toBe(0)
    expect(attempts(await scrape())).toMatchObject({ success: 2 })
  })

  test('requests of webhooks count by outcome, and endpoints that are switched off', async () => {
    const { events, scrape } = listen()
    const attempted = {
      type: 'webhook:attempted',
      deliveryId: 'd',
      endpointId: 'e',
      tenantId: 't',
      durationMs: 30,
    } as const
    events.emit({ ...attempted, outcome: 'delivered', status: 200 })
    events.emit({ ...attempted, outcome: 'failed', status: null })
    events.emit({ type: 'webhook:disabled', endpointId: 'e', tenantId: 't', reason: 'gone' })
    const series = await scrape()
    expect(series.get('mdm_webhook_requests_total{outcome="delivered"}')).toBe(1)
    expect(series.get('mdm_webhook_requests_total{outcome="failed"}')).toBe(1)
    expect(series.get('mdm_webhook_request_seconds_bucket{le="0.025"}')).toBe(0)
    expect(series.get('mdm_webhook_request_seconds_bucket{le="0.05"}')).toBe(2)
    expect(series.get('mdm_webhook_endpoints_disabled_total')).toBe(1)
  })

  test('releases count, and as hits of the rate limit only where it is the cause', async () => {
    const { events, scrape } = listen()
    const released = { ...end, outcome: 'released' } as const
    events.emit({
      type: 'jobs:ended',
      worker: 'w',
      ends: [
        { ...released, release: { cause: 'rate_limited', unstarted: true } },
        { ...released, release: { cause: 'rate_limited', unstarted: true } },
        { ...released, release: { cause: 'shutdown', unstarted: true } },
        { ...released, release: { cause: 'snoozed', unstarted: false } },
      ],
    })
    const series = await scrape()
    expect(attempts(series)).toMatchObject({ released: 4 })
    expect(series.get('mdm_rate_limit_hits_total{kind="email_send"}')).toBe(2)
    // What never ran took no time.
    expect(series.get('mdm_jobs_processing_seconds_count{kind="email_send"}')).toBe(1)
  })

  test('recoveries count by cause, and as what the job became', async () => {
    const { events, scrape } = listen()
    events.emit({
      type: 'jobs:recovered',
      jobs: [
        { ...job, cause: 'stale', status: 'pending' },
        { ...job, cause: 'dead_instance', status: 'dlq' },
        { ...job, cause: 'dead_instance', status: 'failed' },
      ],
    })
    const series = await scrape()
    expect(attempts(series)).toMatchObject({ recovered: 1, dlq: 1, stopped: 1 })
    expect(series.get('mdm_recoveries_total{kind="email_send",cause="stale"}')).toBe(1)
    expect(series.get('mdm_recoveries_total{kind="email_send",cause="dead_instance"}')).toBe(2)
  })

  test('bulk operations count by action, and the jobs that they moved', async () => {
    const { events, scrape } = listen()
    const operation = { operationId: 'o', action: 'replay', matched: 7 } as const
    events.emit({ type: 'bulk:started', ...operation, ratePerSecond: null, by: 'user:ada' })
    events.emit({ type: 'bulk:batch', ...operation, succeeded: 4, skipped: 1 })
    events.emit({ type: 'bulk:batch', ...operation, succeeded: 2, skipped: 0 })
    events.emit({ type: 'bulk:ended', ...operation, status: 'completed', succeeded: 6, skipped: 1 })
    const series = await scrape()
    expect(series.get('mdm_bulk_operations_started_total{action="replay"}')).toBe(1)
    expect(series.get('mdm_bulk_operations_ended_total{action="replay",status="completed"}')).toBe(1)
    expect(series.get('mdm_bulk_jobs_total{action="replay",outcome="succeeded"}')).toBe(6)
    expect(series.get('mdm_bulk_jobs_total{action="replay",outcome="skipped"}')).toBe(1)
  })

  test('what the instance knows is asked at the scrape', async () => {
    let lag: number | null = null
    let open = 3
    let gaps = 0
    const { scrape } = listen({
      subscriptions: () => open,
      eventLagSeconds: () => lag,
      eventGaps: () => gaps,
      abandonedHandlers: () => 1,
    })
    const before = await scrape()
    expect(before.get('mdm_subscriptions')).toBe(3)
    expect(before.has('mdm_event_lag_seconds')).toBe(false)
    expect(before.get('mdm_event_gaps')).toBe(0)
    expect(before.get('mdm_abandoned_handlers')).toBe(1)
    open = 4
    gaps = 7
    lag = 0.25
    const after = await scrape()
    expect(after.get('mdm_subscriptions')).toBe(4)
    expect(after.get('mdm_event_lag_seconds')).toBe(0.25)
    expect(after.get('mdm_event_gaps')).toBe(7)
  })

  test('without the database the process tells its own, and that the gauges are missing', async () => {
    const { events, scrape } = listen()
    const told: Event[] = []
    events.on((event) => told.push(event))
    const series = await scrape()
    expect(told).toMatchObject([{ type: 'loop:failed', loop: 'gauges', error: { message: 'connection refused' } }])
    expect(series.get('mdm_gauges_up')).toBe(0)
    expect(series.get('process_resident_memory_bytes')).toBeGreaterThan(0)
    expect([...series.keys()].filter((name) => name.startsWith('mdm_jobs_pending'))).toEqual([])
  })

  test('nothing is counted after the end', async () => {
    const { events, scrape, metrics } = listen()
    metrics.stop()
    events.emit({ type: 'jobs:ended', worker: 'w', ends: [{ ...end, outcome: 'success' }] })
    expect(attempts(await scrape())).toEqual({})
  })
})

describe('what the database tells', () => {
  let database: TestDatabase
  beforeAll(async () => void (database = await testDatabase()))
  afterAll(() => database.drop())
  beforeEach(async () => {
    await database.sql('delete from mdm.aa_claim')
    await database.sql('truncate mdm.aa_job')
    await database.sql("delete from mdm.aa_tenant where tenant_key not in ('platform', 'default')")
  })

  const scrape = async () => listen({ db: database.pool }).scrape()
  const tenant = async (key: string) => {
    await database.sql('insert into mdm.aa_tenant (tenant_key, name) values ($1, $1)', [key])
  }
  /** Rows as our own statements leave them: a revision above 0 keeps the triggers for hand-made rows away. */
  const jobs = async (
    count: number,
    columns: { readonly tenant?: string; readonly kind?: string; readonly [column: string]: unknown },
  ) => {
    const { tenant = 'default', kind = 'email_send', ...rest } = columns
    await database.sql(
      `insert into mdm.aa_job (tenant_id, job_kind, revision${Object.keys(rest)
        .map((name) => `, ${name}`)
        .join('')})
       select aa_tenant.id, $1, 1${Object.keys(rest)
         .map((_, index) => `, $${index + 4}`)
         .join('')}
         from mdm.aa_tenant, generate_series(1, $3::int) where tenant_key = $2`,
      [kind, tenant, count, ...Object.values(rest)],
    )
  }

  test('an empty database has no series, and is up', async () => {
    const series = await scrape()
    expect([...series].filter(([name]) => name.startsWith('mdm_jobs_'))).toEqual([])
    expect(series.get('mdm_gauges_up')).toBe(1)
    expect(series.get('mdm_gauges_capped{state="pending"}')).toBe(0)
  })

  test('pending is due and waiting, by tenant and kind; done and failed are in none', async () => {
    await tenant('acme')
    await jobs(3, {})
    await jobs(2, { tenant: 'acme', kind: 'reindex' })
    await jobs(4, { tenant: 'acme', kind: 'reindex', deferred: true, available_at: '2100-01-01' })
    await jobs(5, { status: 'done', completed_at: '2026-01-01' })
    await jobs(6, { status: 'failed', dead_at: '2026-01-01' })
    await jobs(7, { tenant: 'acme', status: 'dlq', dead_at: '2026-01-01' })
    const series = await scrape()
    expect(Object.fromEntries([...series].filter(([name]) => name.startsWith('mdm_jobs_')))).toEqual({
      'mdm_jobs_pending{tenant="default",kind="email_send"}': 3,
      'mdm_jobs_pending{tenant="acme",kind="reindex"}': 6,
      'mdm_jobs_dlq{tenant="acme",kind="email_send"}': 7,
    })
  })

  test('running is what a claim still holds', async () => {
    await jobs(4, {})
    await database.sql(
      `update mdm.aa_job set status = 'running', revision = 2,
              lease = case when id in (select id from mdm.aa_job order by id limit 3) then 7 else 8 end`,
    )
    await jobs(1, { status: 'done' })
    await database.sql('insert into mdm.aa_claim (lease, job_ids) select 7, array_agg(id) from mdm.aa_job')
    expect((await scrape()).get('mdm_jobs_running{tenant="default",kind="email_send"}')).toBe(3)
  })

  test('the oldest due job is found, also when only the promoter is late', async () => {
    await jobs(1, { available_at: new Date(Date.now() - 60_000) })
    await jobs(1, { available_at: new Date(Date.now() - 600_000), priority: 900 })
    await jobs(1, { kind: 'reindex', deferred: true, available_at: new Date(Date.now() - 30_000) })
    await jobs(1, { kind: 'virus_scan', deferred: true, available_at: '2100-01-01' })
    const series = await scrape()
    expect(series.get('mdm_oldest_due_seconds{kind="email_send"}')).toBeCloseTo(600, -2)
    expect(series.get('mdm_oldest_due_seconds{kind="reindex"}')).toBeCloseTo(30, -2)
    expect(series.has('mdm_oldest_due_seconds{kind="virus_scan"}')).toBe(false)
  })

  test('O03: beyond 1,000 tenants the smallest are one, and who is removed disappears', async () => {
    await database.sql(
      "insert into mdm.aa_tenant (tenant_key, name) select 't' || n, 'T' from generate_series(1, 1200) n",
    )
    await database.sql(
      "insert into mdm.aa_job (tenant_id, job_kind, revision) select id, 'reindex', 1 from mdm.aa_tenant where name = 'T'",
    )
    await jobs(5, { tenant: 't1200' })
    const before = pendingOf(await scrape())
    expect(before.size).toBe(1002)
    expect(before.get('mdm_jobs_pending{tenant="t1200",kind="email_send"}')).toBe(5)
    expect(before.get('mdm_jobs_pending{tenant="other",kind="reindex"}')).toBe(200)

    await database.sql(
      "delete from mdm.aa_job using mdm.aa_tenant where tenant_id = aa_tenant.id and tenant_key <> 't7'",
    )
    await database.sql("delete from mdm.aa_tenant where name = 'T' and tenant_key <> 't7'")
    expect([...pendingOf(await scrape())]).toEqual([['mdm_jobs_pending{tenant="t7",kind="reindex"}', 1]])
  })

  test('O03: a deep backlog is counted to the cap, says so, and hides no other tenant', async () => {
    await tenant('acme')
    await jobs(70_000, { kind: 'a_flood' })
    await jobs(3, { tenant: 'acme', kind: 'z_last', available_at: new Date(Date.now() - 600_000) })
    const series = await scrape()
    expect(series.get('mdm_gauges_capped{state="pending"}')).toBe(1)
    expect(series.get('mdm_gauges_capped{state="dlq"}')).toBe(0)
    expect(series.get('mdm_jobs_pending{tenant="default",kind="a_flood"}')).toBe(25_000)
    expect(series.get('mdm_jobs_pending{tenant="acme",kind="z_last"}')).toBe(3)
    expect(series.get('mdm_oldest_due_seconds{kind="z_last"}')).toBeCloseTo(600, -2)
  })

  test('O03: the same cost whatever the history', async () => {
    await jobs(200, {})
    await jobs(200, { status: 'dlq', dead_at: '2026-01-01' })
    await database.sql('vacuum analyze mdm.aa_job')
    const before = await look(countJobsByState.text)
    await jobs(100_000, { status: 'done', completed_at: '2026-01-01' })
    await database.sql('vacuum analyze mdm.aa_job')
    const after = await look(countJobsByState.text)
    expect(after.scans).toEqual([])
    expect(after.pages).toBeLessThan(before.pages * 1.5 + 50)
  })

  test('O03: a plan made on an empty table does not read the history that grew since', async () => {
    const fresh = await testDatabase()
    const session = await fresh.pool.connect()
    try {
      await session.query(`prepare gauges as ${countJobsByState.text}`)
      await session.query('execute gauges')
      await session.query(`insert into mdm.aa_job (tenant_id, job_kind, revision, status)
        select id, 'email_send', 2, 'done' from mdm.aa_tenant, generate_series(1, 20000) where tenant_key = 'default'`)
      const { scans, pages } = await look('execute gauges', session)
      expect(scans).toEqual([])
      expect(pages).toBeLessThan(50)
    } finally {
      session.release()
      await fresh.drop()
    }
  })

  test('O03: scrapes within a second share one look', async () => {
    let looks = 0
    const counting: Queryable = { query: (config) => (looks++, database.pool.query(config)) }
    const { scrape } = listen({ db: counting })
    await Promise.all([scrape(), scrape()])
    await scrape()
    expect(looks).toBe(1)
  })

  async function look(statement: string, session: Queryable = database.pool) {
    const { rows } = await session.query({ text: `explain (analyze, buffers, format json) ${statement}` })
    const plan = (rows as [{ 'QUERY PLAN': [{ Plan: Plan }] }])[0]['QUERY PLAN'][0].Plan
    return { pages: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], scans: scansOf(plan) }
  }
})

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

/** The nodes that read jobs without an index. */
function scansOf(plan: Plan): string[] {
  const here = plan['Relation Name'] === 'aa_job' && !plan['Node Type'].includes('Index') ? [plan['Node Type']] : []
  return [...here, ...(plan.Plans ?? []).flatMap(scansOf)]
}

function listen(sources: Partial<Parameters<typeof createMetrics>[0]> = {}) {
  const events = createEvents((error) => {
    throw error
  })
  const metrics = createMetrics({
    events,
    db: gone,
    subscriptions: () => 0,
    eventLagSeconds: () => null,
    eventGaps: () => 0,
    abandonedHandlers: () => 0,
    ...sources,
  })
  const scrape = async () => parse(await metrics.scrape())
  return { events, metrics, scrape }
}

function parse(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

function attempts(series: Map<string, number>): Record<string, number> {
  const of = /^mdm_jobs_attempts_total\{kind="email_send",outcome="(\w+)"\}$/
  return Object.fromEntries([...series].flatMap(([name, value]) => (of.test(name) ? [[of.exec(name)![1], value]] : [])))
}

function pendingOf(series: Map<string, number>): Map<string, number> {
  return new Map([...series].filter(([name]) => name.startsWith('mdm_jobs_pending')))
}
