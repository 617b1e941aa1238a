import { expect, test } from 'vitest'
import { createEvents } from '../../src/jobs/event.ts'
import type { Event } from '../../src/jobs/event.ts'
import { createLog, logEvents } from '../../src/observe/log.ts'
import type { LogFormat } from '../../src/observe/log.ts'
import { until } from '../support/until.ts'

const run = { id: '0197-a', kind: 'email_send', tenantId: 'tenant-1', attempts: 2 }
const end = {
  run,
  durationMs: 12,
  error: null,
  retryAt: null,
  release: null,
}

test.each<[Event, readonly Record<string, unknown>[]]>([
  [
    { type: 'bulk:started', operationId: 'o', action: 'replay', matched: 7, ratePerSecond: 20, by: 'user:ada' },
    [
      {
        level: 'info',
        msg: 'bulk operation started',
        operationId: 'o',
        action: 'replay',
        matched: 7,
        ratePerSecond: 20,
        by: 'user:ada',
      },
    ],
  ],
  [
    { type: 'bulk:batch', operationId: 'o', action: 'replay', succeeded: 4, skipped: 1 },
    [{ level: 'debug', msg: 'bulk operation moved jobs', operationId: 'o', succeeded: 4, skipped: 1 }],
  ],
  [
    { type: 'bulk:ended', operationId: 'o', action: 'stop', status: 'completed', matched: 7, succeeded: 5, skipped: 2 },
    [{ level: 'info', msg: 'bulk operation ended', status: 'completed', matched: 7, succeeded: 5, skipped: 2 }],
  ],
  [
    { type: 'bulk:ended', operationId: 'o', action: 'stop', status: 'faulted', matched: 7, succeeded: 5, skipped: 0 },
    [{ level: 'error', msg: 'bulk operation ended', status: 'faulted' }],
  ],
  [
    {
      type: 'jobs:claimed',
      worker: 'w',
      jobs: [
        { id: 'a', kind: 'k', tenantId: 't', attempts: 1, createdMs: 1_000, availableMs: 1_006, claimedMs: 1_009 },
      ],
    },
    [{ level: 'debug', msg: 'job claimed', jobId: 'a', kind: 'k', tenantId: 't', attempt: 1, worker: 'w', waitMs: 3 }],
  ],
  [
    {
      type: 'jobs:ended',
      worker: 'w',
      ends: [
        { ...end, outcome: 'success' },
        { ...end, outcome: 'retry', error: 'busy\n    at x', retryAt: new Date('2030-01-01T00:00:00Z') },
        { ...end, outcome: 'dlq', error: 'gone' },
        { ...end, outcome: 'stopped', error: 'no longer wanted' },
        {
          ...end,
          outcome: 'released',
          retryAt: new Date('2030-01-01T00:00:00Z'),
          release: { cause: 'snoozed', unstarted: false },
        },
      ],
    },
    [
      {
        level: 'info',
        msg: 'job done',
        jobId: '0197-a',
        kind: 'email_send',
        tenantId: 'tenant-1',
        attempt: 2,
        worker: 'w',
        durationMs: 12,
      },
      {
        level: 'warn',
        msg: 'job failed: it will be retried',
        jobId: '0197-a',
        error: 'busy',
        willRetry: true,
        retryAt: '2030-01-01T00:00:00.000Z',
      },
      { level: 'error', msg: 'job failed for good', jobId: '0197-a', error: 'gone', willRetry: false },
      { level: 'info', msg: 'job stopped', jobId: '0197-a', error: 'no longer wanted' },
      { level: 'info', msg: 'job released', jobId: '0197-a', cause: 'snoozed', retryAt: '2030-01-01T00:00:00.000Z' },
    ],
  ],
  [
    {
      type: 'jobs:ended',
      worker: 'w',
      ends: [
        { ...end, outcome: 'released', release: { cause: 'rate_limited', unstarted: true } },
        { ...end, outcome: 'released', release: { cause: 'shutdown', unstarted: true } },
        { ...end, outcome: 'released', release: { cause: 'rate_limited', unstarted: true } },
        { ...end, outcome: 'stopped', error: 'no longer wanted', release: { cause: 'shutdown', unstarted: true } },
      ],
    },
    [
      {
        level: 'debug',
        msg: 'claims released',
        worker: 'w',
        cause: 'rate_limited',
        count: 2,
        kinds: { email_send: 2 },
      },
      { level: 'info', msg: 'claims released', cause: 'shutdown', count: 1 },
      { level: 'info', msg: 'job stopped', jobId: '0197-a' },
    ],
  ],
  [
    {
      type: 'jobs:recovered',
      jobs: [
        { id: 'a', kind: 'k', tenantId: 't', attempts: 1, cause: 'stale', status: 'pending' },
        { id: 'b', kind: 'k', tenantId: 't', attempts: 8, cause: 'dead_instance', status: 'dlq' },
      ],
    },
    [
      { level: 'warn', msg: 'job recovered', jobId: 'a', cause: 'stale', status: 'pending', willRetry: true },
      { level: 'error', msg: 'job recovered', jobId: 'b', cause: 'dead_instance', status: 'dlq', willRetry: false },
    ],
  ],
  [
    { type: 'lease:lost', worker: 'w', jobIds: ['a'] },
    [{ level: 'warn', msg: 'claim lost: the run changed nothing', worker: 'w', jobIds: ['a'] }],
  ],
  [
    { type: 'handler:abandoned', worker: 'w', jobId: 'a', kind: 'k' },
    [
      {
        level: 'error',
        msg: 'handler abandoned: it ignored its abort, its slot was replaced',
        worker: 'w',
        jobId: 'a',
        kind: 'k',
      },
    ],
  ],
  [
    {
      type: 'webhook:attempted',
      deliveryId: 'd',
      endpointId: 'e',
      tenantId: 't',
      outcome: 'failed',
      status: 500,
      durationMs: 12,
    },
    [{ level: 'debug', msg: 'webhook attempted', deliveryId: 'd', outcome: 'failed', status: 500, durationMs: 12 }],
  ],
  [
    { type: 'webhook:disabled', endpointId: 'e', tenantId: 't', reason: 'gone' },
    [
      {
        level: 'error',
        msg: 'webhook endpoint disabled: its deliveries are held',
        endpointId: 'e',
        tenantId: 't',
        reason: 'gone',
      },
    ],
  ],
  [
    { type: 'loop:failed', loop: 'maintenance', error: new Error('no answer') },
    [
      {
        level: 'error',
        msg: 'loop failed: it goes on after a pause',
        loop: 'maintenance',
        err: expect.objectContaining({ message: 'no answer' }),
      },
    ],
  ],
  [
    { type: 'connection:lost', connection: 'listen', error: new Error('reset') },
    [
      {
        level: 'warn',
        msg: 'connection lost',
        connection: 'listen',
        err: expect.objectContaining({ message: 'reset' }),
      },
    ],
  ],
  [
    { type: 'connection:restored', connection: 'listen' },
    [{ level: 'info', msg: 'connection restored', connection: 'listen' }],
  ],
  [
    { type: 'kinds:differ', kinds: ['k'] },
    [
      {
        level: 'warn',
        msg: 'kinds differ: another instance registered other defaults, those of this one stand now',
        kinds: ['k'],
      },
    ],
  ],
  [
    { type: 'instance:lost', instanceId: 'i' },
    [{ level: 'warn', msg: 'instance lost: it was taken for dead and has registered anew', instanceId: 'i' }],
  ],
])('$type is told in one line each', async (event, lines) => {
  const { events, written } = listen('trace')
  events.emit(event)
  const logged = await written()
  expect(logged.map((line) => JSON.parse(line))).toEqual(lines.map((line) => expect.objectContaining(line)))
})

test('what is below the level is not written', async () => {
  const { events, log, written } = listen('warn')
  events.emit({ type: 'jobs:ended', worker: 'w', ends: [{ ...end, outcome: 'success' }] })
  events.emit({ type: 'jobs:claimed', worker: 'w', jobs: [] })
  log.warn('the end')
  expect((await written()).map((line) => JSON.parse(line).msg)).toEqual(['the end'])
})

test('what succeeds by the hundred is told in one line; what fails keeps its own, and debug has them all', async () => {
  const ends = [
    ...Array.from({ length: 30 }, () => ({ ...end, outcome: 'success' as const })),
    { ...end, outcome: 'dlq' as const, error: 'gone' },
    ...Array.from({ length: 30 }, () => ({ ...end, run: { ...run, kind: 'reindex' }, outcome: 'success' as const })),
  ]
  const short = listen('info')
  short.events.emit({ type: 'jobs:ended', worker: 'w', ends })
  expect((await short.written()).map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ msg: 'jobs done', worker: 'w', count: 60, kinds: { email_send: 30, reindex: 30 } }),
    expect.objectContaining({ level: 'error', msg: 'job failed for good', error: 'gone' }),
  ])
  const long = listen('debug')
  long.events.emit({ type: 'jobs:ended', worker: 'w', ends })
  expect((await long.written()).length).toBe(61)
})

test('a group of a thousand leaves in one write, in order', async () => {
  const { events, writes, written } = listen('debug')
  events.emit({
    type: 'jobs:ended',
    worker: 'w',
    ends: Array.from({ length: 1000 }, (_, id) => ({ ...end, run: { ...run, id: String(id) }, outcome: 'success' })),
  })
  expect((await written()).map((line) => JSON.parse(line).jobId)).toEqual(
    Array.from({ length: 1000 }, (_, id) => String(id)),
  )
  expect(writes.length).toBe(1)
})

test('passwords in URLs are hidden wherever they stand', async () => {
  const { log, written } = listen('info')
  log.info(
    { err: new Error('connect postgres://app:hunter2@db.example.org:5432/x failed'), smtp: 'smtps://u:hunter2@mail' },
    'redis://:hunter2@cache',
  )
  const [line] = await written()
  expect(line).not.toContain('hunter2')
  expect(line).toContain('postgres://app:***@db.example.org:5432/x')
  expect(line).toContain('redis://:***@cache')
})

test('an error is cut to its first line', async () => {
  const { events, written } = listen('info')
  events.emit({
    type: 'jobs:ended',
    worker: 'w',
    ends: [{ ...end, outcome: 'dlq', error: `${'x'.repeat(1000)}\nsecond` }],
  })
  expect(JSON.parse((await written())[0]!).error).toBe('x'.repeat(300))
})

test('a person reads one line, and the stack below it', async () => {
  const { log, written } = listen('info', 'line')
  log.warn({ kind: 'email_send', attempt: 2, kinds: ['a'] }, 'job failed')
  log.error({ err: new Error('no answer') }, 'loop failed')
  const [first, second, stack] = await written()
  expect(first).toMatch(/^\d\d:\d\d:\d\d\.\d{3} warn {2}job failed kind=email_send attempt=2 kinds=\["a"\]$/)
  expect(second).toMatch(/^\d\d:\d\d:\d\d\.\d{3} error loop failed$/)
  expect(stack).toBe('    Error: no answer')
})

test('nothing is told after the end', async () => {
  const { events, log, stop, written } = listen('info')
  stop()
  events.emit({ type: 'connection:restored', connection: 'listen' })
  log.info('the end')
  expect((await written()).map((line) => JSON.parse(line).msg)).toEqual(['the end'])
})

function listen(level: string, format: LogFormat = 'json') {
  const writes: string[] = []
  const log = createLog({ level, format, destination: { write: (text) => writes.push(text) } })
  const events = createEvents((error) => {
    throw error
  })
  const written = async (): Promise<string[]> => {
    await until(() => writes.length > 0, 'lines were written')
    return writes.join('').trimEnd().split('\n')
  }
  return { log, events, writes, written, stop: logEvents(log, events) }
}
