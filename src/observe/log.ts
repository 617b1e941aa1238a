import { pino } from 'pino'
import type { Logger } from 'pino'
import type { EndFacts, Event, Events, RecoveredFacts } from '../jobs/event.ts'

/** Where lines go; `pino.destination()` and any stream fit. */
interface Destination {
  write(text: string): unknown
}

/** How lines look: one JSON object each for machines, or `line` for a person at a terminal. */
export type LogFormat = 'json' | 'line'

export interface LogOptions {
  readonly level: string
  readonly format: LogFormat
  /** Standard output unless given. */
  readonly destination?: Destination
}

/** The process' logger. Passwords in URLs never reach the destination, whoever logs them. */
export function createLog({
  level,
  format,
  destination = pino.destination({ dest: 1, sync: true }),
}: LogOptions): Logger {
  const show = format === 'line' ? formatLine : (line: string) => line
  return pino(
    { level, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    writeOncePerTurn({ write: (text) => destination.write(hidePasswords(text)) }, show),
  )
}

/** Writes one line for each thing that happens to a job or an instance, until the returned function is called. */
export function logEvents(log: Logger, events: Events): () => void {
  return events.on((event) => logEvent(log, event))
}

/** All lines of the life of jobs, with their levels: what goes well is info, what was healed is warn, what needs a person is error. */
function logEvent(log: Logger, event: Event): void {
  switch (event.type) {
    case 'jobs:claimed':
      if (!log.isLevelEnabled('debug')) return
      for (const { id, kind, tenantId, attempts, availableMs, claimedMs } of event.jobs) {
        const waitMs = Math.max(claimedMs - availableMs, 0)
        log.debug({ jobId: id, kind, tenantId, attempt: attempts, worker: event.worker, waitMs }, 'job claimed')
      }
      return
    case 'jobs:ended':
      logEnds(log, event.worker, event.ends)
      return
    case 'jobs:recovered':
      for (const job of event.jobs) logRecovered(log, job)
      return
    case 'lease:lost':
      log.warn({ worker: event.worker, jobIds: event.jobIds }, 'claim lost: the run changed nothing')
      return
    case 'handler:abandoned':
      log.error(
        { worker: event.worker, jobId: event.jobId, kind: event.kind },
        'handler abandoned: it ignored its abort, its slot was replaced',
      )
      return
    case 'loop:failed':
      log.error({ loop: event.loop, err: event.error }, 'loop failed: it goes on after a pause')
      return
    case 'connection:lost':
      log.warn({ connection: event.connection, err: event.error }, 'connection lost')
      return
    case 'connection:restored':
      log.info({ connection: event.connection }, 'connection restored')
      return
    case 'kinds:differ':
      log.warn(
        { kinds: event.kinds },
        'kinds differ: another instance registered other defaults, those of this one stand now',
      )
      return
    case 'provider:out': {
      const { provider, kind, fault, reason, ms } = event
      log.error({ provider, kind, fault, reason, pausedMs: ms }, 'provider out: its kind is paused')
      return
    }
    case 'provider:back':
      log.info({ provider: event.provider, kind: event.kind }, 'provider back: its kind goes on')
      return
    case 'provider:paced': {
      const { provider, kind, rps, reason } = event
      if (reason === null) log.info({ provider, kind, rps }, 'provider gets more again')
      else log.warn({ provider, kind, rps, reason }, 'provider asked for less: it gets less for a while')
      return
    }
    case 'webhook:attempted': {
      const { type: _, outcome, ...facts } = event
      // A failure that ends or delays a job has a line of its own.
      log.debug({ ...facts, outcome }, 'webhook attempted')
      return
    }
    case 'webhook:disabled':
      log.error(
        { endpointId: event.endpointId, tenantId: event.tenantId, reason: event.reason },
        'webhook endpoint disabled: its deliveries are held',
      )
      return
    case 'bulk:started': {
      const { operationId, action, matched, ratePerSecond, by } = event
      log.info({ operationId, action, matched, ratePerSecond, by }, 'bulk operation started')
      return
    }
    case 'bulk:batch': {
      const { operationId, action, succeeded, skipped } = event
      log.debug({ operationId, action, succeeded, skipped }, 'bulk operation moved jobs')
      return
    }
    case 'bulk:ended': {
      const { operationId, action, status, matched, succeeded, skipped } = event
      const level = status === 'faulted' ? 'error' : 'info'
      log[level]({ operationId, action, status, matched, succeeded, skipped }, 'bulk operation ended')
      return
    }
    case 'instance:lost':
      log.warn({ instanceId: event.instanceId }, 'instance lost: it was taken for dead and has registered anew')
      return
  }
}

/** More successes than this in one settled group are told by one line: a line a job costs a drain a third of its speed, and the journal has each. */
const mostDoneLines = 50

function logEnds(log: Logger, worker: string, ends: readonly EndFacts[]): void {
  const done =
    ends.length > mostDoneLines && !log.isLevelEnabled('debug')
      ? ends.filter(({ outcome }) => outcome === 'success')
      : []
  const flood = done.length > mostDoneLines
  if (flood) log.info({ worker, count: done.length, kinds: countByKind(done) }, 'jobs done')
  const unstarted = ends.filter(isUnstarted)
  if (unstarted.length > 0) logUnstarted(log, worker, unstarted)
  for (const end of ends) if (!(flood && end.outcome === 'success') && !isUnstarted(end)) logEnd(log, worker, end)
}

type ReleasedEnd = EndFacts & { readonly release: NonNullable<EndFacts['release']> }

/** A claim that went back as it came. */
const isUnstarted = (end: EndFacts): end is ReleasedEnd =>
  end.outcome === 'released' && end.release !== null && end.release.unstarted

/** What is claimed ahead goes back by the thousand: a line for each cause. */
function logUnstarted(log: Logger, worker: string, ends: readonly ReleasedEnd[]): void {
  for (const [cause, released] of Map.groupBy(ends, ({ release }) => release.cause)) {
    const isOrdinary = cause === 'rate_limited' || cause === 'surplus'
    log[isOrdinary ? 'debug' : 'info'](
      { worker, cause, count: released.length, kinds: countByKind(released) },
      'claims released',
    )
  }
}

function countByKind(ends: readonly EndFacts[]): Record<string, number> {
  const counts = new Map<string, number>()
  for (const { run } of ends) counts.set(run.kind, (counts.get(run.kind) ?? 0) + 1)
  return Object.fromEntries(counts)
}

function logEnd(log: Logger, worker: string, end: EndFacts): void {
  // Asked first: a drain ends 40,000 jobs a second.
  if (end.outcome === 'success' && !log.isLevelEnabled('info')) return
  const facts = {
    jobId: end.run.id,
    kind: end.run.kind,
    tenantId: end.run.tenantId,
    attempt: end.run.attempts,
    worker,
    durationMs: end.durationMs,
  }
  switch (end.outcome) {
    case 'success':
      return log.info(facts, 'job done')
    case 'retry':
      return log.warn(
        { ...facts, error: excerpt(end.error), willRetry: true, retryAt: end.retryAt },
        'job failed: it will be retried',
      )
    case 'dlq':
      return log.error({ ...facts, error: excerpt(end.error), willRetry: false }, 'job failed for good')
    case 'stopped':
      return log.info({ ...facts, error: excerpt(end.error) }, 'job stopped')
    case 'released':
      return log.info({ ...facts, cause: end.release?.cause, retryAt: end.retryAt }, 'job released')
  }
}

function logRecovered(log: Logger, { id, kind, tenantId, attempts, cause, status }: RecoveredFacts): void {
  const facts = { jobId: id, kind, tenantId, attempt: attempts, cause, status, willRetry: status === 'pending' }
  log[status === 'dlq' ? 'error' : 'warn'](facts, 'job recovered')
}

/** The first line of an error, short: the whole text stands on the job. */
const excerpt = (error: string | null): string | null => error?.split('\n', 1)[0]!.slice(0, 300) ?? null

/** From `://` on, 0.2 us a line: a pattern that begins with the scheme stops at each word, 1.1 us a line. */
const hidePasswords = (text: string): string => text.replaceAll(/(:\/\/[^\s:@/"']*:)[^\s@/"']+@/g, '$1***@')

/** A settled group is hundreds of lines: they leave in one write, at the end of the turn or when the process ends. */
function writeOncePerTurn(destination: Destination, show: (line: string) => string): Destination {
  let waiting = ''
  const flush = (): void => {
    process.off('exit', flush)
    const text = waiting
    waiting = ''
    if (text !== '') destination.write(text)
  }
  return {
    write(line: string) {
      if (waiting === '') {
        setImmediate(flush)
        process.on('exit', flush)
      }
      waiting += show(line)
    },
  }
}

/** `12:34:56.789 info  job done  kind=email_send attempt=1`, an error's stack below it. */
function formatLine(line: string): string {
  const {
    level,
    time,
    pid: _pid,
    hostname: _hostname,
    msg,
    err,
    ...fields
  } = JSON.parse(line) as Record<string, unknown>
  const words = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const head = [String(time).slice(11, 23), String(level).padEnd(5), msg, ...words].join(' ')
  const stack = (err as { stack?: string } | undefined)?.stack
  return stack === undefined ? `${head}\n` : `${head}\n    ${stack.replaceAll('\n', '\n    ')}\n`
}
