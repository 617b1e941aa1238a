import { describe, expect, test } from 'vitest'
import { claimedEventOf, eventId, jobActions, jobEventsOf, type JournalRow } from '../../src/jobs/job-event.ts'
import { moves, type Move } from '../../src/jobs/lifecycle.ts'

const at = new Date('2026-05-01T12:00:10Z')
const row: JournalRow = {
  id: 7,
  at,
  jobId: '0197f3c2-0000-7000-8000-0123456789ab',
  tenantId: '0197f3c2-0000-7000-8000-000000000001',
  kind: 'chore',
  action: 'job_done',
  revision: 3,
  claimRevision: null,
  runMs: 2_500,
  attempt: 1,
  worker: 4,
  actor: null,
  reason: null,
  payload: null,
}

test('the end of a run tells its claim first', () => {
  expect(jobEventsOf(row)).toMatchObject([
    {
      type: 'CLAIMED',
      revision: 2,
      at: new Date('2026-05-01T12:00:07.500Z'),
      fromStatus: 'pending',
      toStatus: 'running',
      attempt: 1,
      workerId: 4,
    },
    { type: 'SUCCEEDED', revision: 3, at, fromStatus: 'running', toStatus: 'done', id: eventId(row.jobId, 3) },
  ])
})

test('with a stop request in between, the claim has the revision that it had', () => {
  const events = jobEventsOf({
    ...row,
    action: 'job_stop',
    revision: 4,
    claimRevision: 2,
    reason: 'broken',
    payload: { from: 'running' },
  })
  expect(events).toMatchObject([
    { type: 'CLAIMED', revision: 2 },
    { type: 'STOPPED', revision: 4, fromStatus: 'running', toStatus: 'failed', reason: 'broken' },
  ])
})

test('a stop request tells the claim too, if it knows how long the run took by then', () => {
  expect(jobEventsOf({ ...row, action: 'job_stop_requested' }).map(({ type }) => type)).toEqual([
    'CLAIMED',
    'CANCEL_REQUESTED',
  ])
  expect(jobEventsOf({ ...row, action: 'job_cancel_requested', runMs: null }).map(({ type }) => type)).toEqual([
    'CANCEL_REQUESTED',
  ])
})

test('a failure brings its error and the time of the next attempt', () => {
  const payload = {
    last_error: 'Error: boom',
    name: 'Error',
    detail: 'at x',
    fingerprint: 'f',
    log: ['a'],
    available_at: '2026-05-01T12:01:00+00:00',
  }
  expect(jobEventsOf({ ...row, action: 'job_retry', payload })[1]).toMatchObject({
    type: 'RETRY_SCHEDULED',
    toStatus: 'pending',
    error: { message: 'Error: boom', name: 'Error', detail: 'at x', fingerprint: 'f' },
    availableAt: new Date('2026-05-01T12:01:00Z'),
  })
})

test('a discard comes from the status in its snapshot, and leads nowhere', () => {
  const [event] = jobEventsOf({ ...row, action: 'job_discard', runMs: null, payload: { snapshot: { status: 'dlq' } } })
  expect(event).toMatchObject({ type: 'DISCARDED', fromStatus: 'dlq', toStatus: null })
})

test('the claim of a job that runs is the event that the end of the run tells', () => {
  const [claimed] = jobEventsOf(row)
  const { jobId, tenantId } = row
  expect(
    claimedEventOf({ jobId, tenantId, kind: 'chore', revision: 2, at: claimed!.at, attempt: 1, worker: 4 }),
  ).toEqual(claimed)
})

describe('every move of the table has an event that says the same', () => {
  const journaled = Object.entries<Move>(moves).filter(([, { action }]) => action !== null)
  test.each(journaled.flatMap(([name, move]) => move.from.map((from) => ({ name, move, from }))))(
    '$name from $from',
    ({ name, move, from }) => {
      const payload = from === 'absent' ? null : move.to === 'deleted' ? { snapshot: { status: from } } : { from }
      const event = jobEventsOf({ ...row, action: move.action!, runMs: from === 'running' ? 1 : null, payload }).at(-1)!
      expect([event.fromStatus, event.toStatus]).toEqual([
        from === 'absent' ? null : from,
        // Its claim is told by the end of the run, as any other's.
        move.to === 'deleted' ? null : name === 'enqueueClaimed' ? 'pending' : move.to,
      ])
    },
  )
  test('and no event is left over', () => {
    expect(new Set(jobActions)).toEqual(new Set(journaled.map(([, { action }]) => action)))
  })
})
