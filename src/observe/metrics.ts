import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ClaimedFacts, EndFacts, Event, Events, RecoveredFacts } from '../jobs/event.ts'
import { countJobsByState, type JobCount, type QueueState } from '../sql/count-jobs-by-state.ts'
import type { Queryable } from '../sql/statement.ts'
import { createHistogramByKind } from './histogram-by-kind.ts'

/** Where the metrics get what no event tells. */
export interface MetricsSources {
  readonly events: Events
  readonly db: Queryable
  /** Open subscriptions of this instance. */
  readonly subscriptions: () => number
  /** How far this instance's event relay is behind the journal; null while it does not run. */
  readonly eventLagSeconds: () => number | null
  /** Journal ids that this instance's event relay still waits for although it has told later ones. */
  readonly eventGaps: () => number
  /** Handlers that ignored their abort and still have not ended. */
  readonly abandonedHandlers: () => number
  /** For each loop of this process by how many seconds its next sign of progress is late. */
  readonly overdueLoops?: () => ReadonlyMap<string, number>
}

/** The metrics of one process. */
export interface Metrics {
  readonly contentType: string
  /** The text of a scrape. Without the database it holds the process' own metrics and `mdm_gauges_up 0`. */
  scrape(): Promise<string>
  /** Listens no more. */
  stop(): void
}

type Outcome = 'success' | 'retry' | 'dlq' | 'released' | 'recovered' | 'stopped'

const waitBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400]
const runBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600]
/** Scrapes within this time share one look at the database. */
const gaugesLastMs = 1000
/** Each tenant and kind is a series of its own. */
const mostTenantLabels = 1_000

/**
 * All metrics. Counters and histograms are this process' own and may be summed; the gauges of jobs come from the database and are
 * the same in every instance: read them with `max by`, never summed.
 */
export function createMetrics({
  events,
  db,
  subscriptions,
  eventLagSeconds,
  eventGaps,
  abandonedHandlers,
  overdueLoops = () => new Map(),
}: MetricsSources): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  const claimLatency = createHistogramByKind(
    registry,
    'mdm_jobs_claim_latency_seconds',
    'From created_at to the claim.',
    waitBounds,
  )
  const wait = createHistogramByKind(registry, 'mdm_jobs_wait_seconds', 'From available_at to the claim.', waitBounds)
  const processing = createHistogramByKind(
    registry,
    'mdm_jobs_processing_seconds',
    'From the start of the handler to its end.',
    runBounds,
  )

  const attempts = createAttempts(registry)
  const rateLimitHits = new Counter({
    name: 'mdm_rate_limit_hits_total',
    help: 'Claims that went back for want of a rate-limit token.',
    labelNames: ['kind'],
    registers,
  })
  const recoveries = new Counter({
    name: 'mdm_recoveries_total',
    help: 'Claims taken back from dead instances, or because they were stale.',
    labelNames: ['kind', 'cause'],
    registers,
  })

  const providerOut = new Gauge({
    name: 'mdm_provider_out',
    help: '1 while this instance holds a kind back because its provider takes nothing, else 0.',
    labelNames: ['provider', 'kind'],
    registers,
  })

  const webhookRequests = new Counter({
    name: 'mdm_webhook_requests_total',
    help: 'Requests to webhook endpoints, by outcome: delivered, failed, gone, forbidden.',
    labelNames: ['outcome'],
    registers,
  })
  const webhookSeconds = new Histogram({
    name: 'mdm_webhook_request_seconds',
    help: 'From the start of a request to a webhook endpoint to the end of its answer.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
    registers,
  })
  const webhooksDisabled = new Counter({
    name: 'mdm_webhook_endpoints_disabled_total',
    help: 'Webhook endpoints that this instance has switched off.',
    registers,
  })

  const bulkStarted = new Counter({
    name: 'mdm_bulk_operations_started_total',
    help: 'Bulk operations that were asked for at this instance.',
    labelNames: ['action'],
    registers,
  })
  const bulkEnded = new Counter({
    name: 'mdm_bulk_operations_ended_total',
    help: 'Bulk operations that this instance ended, by how: completed, cancelled, faulted.',
    labelNames: ['action', 'status'],
    registers,
  })
  const bulkJobs = new Counter({
    name: 'mdm_bulk_jobs_total',
    help: 'Jobs that this instance dealt with in bulk operations: succeeded, or skipped since they had moved on.',
    labelNames: ['action', 'outcome'],
    registers,
  })

  const gauge = (name: string, help: string, read: () => number | null) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const value = read()
        if (value === null) this.remove()
        else this.set(value)
      },
    })
  gauge('mdm_subscriptions', 'Open subscriptions of this instance.', subscriptions)
  gauge('mdm_event_lag_seconds', 'How far the event relay is behind the journal.', eventLagSeconds)
  gauge(
    'mdm_event_gaps',
    'Journal ids that the event relay still waits for, because a transaction that drew them may be open. Stays above 0: look for one.',
    eventGaps,
  )
  gauge('mdm_abandoned_handlers', 'Handlers that ignored their abort and still have not ended.', abandonedHandlers)
  new Gauge({
    name: 'mdm_loop_overdue_seconds',
    help: 'By how much the next sign of progress of a loop is late; 0: it gets on.',
    labelNames: ['loop'],
    registers,
    collect() {
      this.reset()
      for (const [loop, seconds] of overdueLoops()) this.set({ loop }, seconds)
    },
  })
  const refreshJobGauges = createJobGauges(registry, db, events)

  // Functions of their own: a loop in one that is called once in a thousand jobs is compiled late, and allocated 49 bytes a job.
  const countClaim = ({ kind, createdMs, availableMs, claimedMs }: ClaimedFacts): void => {
    claimLatency.observe(kind, Math.max(claimedMs - createdMs, 0) / 1000)
    wait.observe(kind, Math.max(claimedMs - availableMs, 0) / 1000)
  }
  const countEnd = ({ run, outcome, durationMs, release }: EndFacts): void => {
    if (release === null || !release.unstarted) processing.observe(run.kind, durationMs / 1000)
    attempts.add(run.kind, outcome)
    if (release !== null && release.cause === 'rate_limited') rateLimitHits.inc({ kind: run.kind })
  }

  const count = (event: Event): void => {
    switch (event.type) {
      case 'jobs:claimed':
        event.jobs.forEach(countClaim)
        return
      case 'jobs:ended':
        event.ends.forEach(countEnd)
        return
      case 'jobs:recovered':
        for (const { kind, cause, status } of event.jobs) {
          attempts.add(kind, recoveredOutcome[status])
          recoveries.inc({ kind, cause })
        }
        return
      case 'webhook:attempted':
        webhookRequests.inc({ outcome: event.outcome })
        webhookSeconds.observe(event.durationMs / 1000)
        return
      case 'webhook:disabled':
        webhooksDisabled.inc()
        return
      case 'bulk:started':
        bulkStarted.inc({ action: event.action })
        return
      case 'bulk:batch':
        bulkJobs.inc({ action: event.action, outcome: 'succeeded' }, event.succeeded)
        bulkJobs.inc({ action: event.action, outcome: 'skipped' }, event.skipped)
        return
      case 'bulk:ended':
        bulkEnded.inc({ action: event.action, status: event.status })
        return
      case 'provider:out':
        providerOut.set({ provider: event.provider, kind: event.kind }, 1)
        return
      case 'provider:back':
        providerOut.set({ provider: event.provider, kind: event.kind }, 0)
        return
      default:
        return
    }
  }

  return {
    contentType: registry.contentType,
    async scrape() {
      await refreshJobGauges()
      return registry.metrics()
    },
    stop: events.on(count),
  }
}

/** A recovered job without attempts left ends in the DLQ, one with a stop request is stopped: those count as what they became. */
const recoveredOutcome = { pending: 'recovered', dlq: 'dlq', failed: 'stopped' } as const satisfies Record<
  RecoveredFacts['status'],
  Outcome
>

/** Counts in plain objects and pays when scraped: prom-client's counter takes 490 ns each time. */
function createAttempts(registry: Registry): { add(kind: string, outcome: Outcome): void } {
  const byKind = new Map<string, Record<Outcome, number>>()
  new Counter({
    name: 'mdm_jobs_attempts_total',
    help: 'Runs that ended, by outcome.',
    labelNames: ['kind', 'outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [kind, outcomes] of byKind) {
        for (const [outcome, runs] of Object.entries(outcomes)) this.inc({ kind, outcome }, runs)
      }
    },
  })
  return {
    add(kind, outcome) {
      let outcomes = byKind.get(kind)
      if (outcomes === undefined)
        byKind.set(kind, (outcomes = { success: 0, retry: 0, dlq: 0, released: 0, recovered: 0, stopped: 0 }))
      outcomes[outcome]++
    },
  }
}

/** Gauges that are rebuilt from the database, so that what is gone there is gone here; answers what refreshes them. */
function createJobGauges(registry: Registry, db: Queryable, events: Events): () => Promise<void> {
  const registers = [registry]
  const byTenant = (name: string, help: string) => new Gauge({ name, help, labelNames: ['tenant', 'kind'], registers })
  const jobs = {
    pending: byTenant('mdm_jobs_pending', 'Jobs that wait: due, or for their time.'),
    running: byTenant('mdm_jobs_running', 'Jobs that run.'),
    dlq: byTenant('mdm_jobs_dlq', 'Jobs in the dead-letter queue.'),
  }
  const oldestDue = new Gauge({
    name: 'mdm_oldest_due_seconds',
    help: 'How long the oldest due job has been waiting.',
    labelNames: ['kind'],
    registers,
  })
  const capped = new Gauge({
    name: 'mdm_gauges_capped',
    help: '1: there are more jobs in this state than a scrape counts, the gauges are lower bounds.',
    labelNames: ['state'],
    registers,
  })
  const up = new Gauge({
    name: 'mdm_gauges_up',
    help: '0: the database did not answer, the gauges of jobs are missing.',
    registers,
  })

  const rebuild = async (): Promise<void> => {
    const counts = await countJobsByState(db).catch((error: Error) => {
      events.emit({ type: 'loop:failed', loop: 'gauges', error })
      return null
    })
    for (const stale of [...Object.values(jobs), oldestDue, capped]) stale.reset()
    up.set(counts === null ? 0 : 1)
    if (counts === null) return
    const labelOf = tenantLabels(counts)
    const oldestByKind = new Map<string, number>()
    const atCap = { pending: false, running: false, dlq: false }
    for (const count of counts) {
      const gauge = gaugeOf[count.state]
      if (gauge === null) continue
      atCap[gauge] ||= count.capped
      if (count.tenantId === null) continue
      jobs[gauge].inc({ tenant: labelOf(count), kind: count.kind }, count.jobs)
      if (count.oldestDueSeconds === null) continue
      oldestByKind.set(count.kind, Math.max(oldestByKind.get(count.kind) ?? 0, count.oldestDueSeconds))
    }
    for (const [state, isCapped] of Object.entries(atCap)) capped.set({ state }, isCapped ? 1 : 0)
    for (const [kind, seconds] of oldestByKind) oldestDue.set({ kind }, seconds)
  }

  let running: Promise<void> | null = null
  let doneAt = -Infinity
  return async () => {
    if (performance.now() - doneAt < gaugesLastMs) return
    running ??= rebuild().finally(() => {
      running = null
      doneAt = performance.now()
    })
    await running
  }
}

/** Where a state is counted. Stopped and cancelled jobs have no gauge. */
const gaugeOf = {
  due: 'pending',
  waiting: 'pending',
  running: 'running',
  dlq: 'dlq',
  failed: null,
} as const satisfies Record<QueueState, string | null>

type CountOfTenant = Extract<JobCount, { tenantId: string }>

/** A label for each tenant: its key, or `other` beyond the 1,000 with most jobs. */
function tenantLabels(counts: readonly JobCount[]): (count: CountOfTenant) => string {
  const totals = new Map<string, number>()
  for (const { tenantId, state, jobs } of counts) {
    if (tenantId !== null && gaugeOf[state] !== null) totals.set(tenantId, (totals.get(tenantId) ?? 0) + jobs)
  }
  if (totals.size <= mostTenantLabels) return ({ tenant }) => tenant
  const largest = [...totals].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, mostTenantLabels)
  const named = new Set(largest.map(([tenantId]) => tenantId))
  return ({ tenantId, tenant }) => (named.has(tenantId) ? tenant : 'other')
}
