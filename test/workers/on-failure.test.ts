import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createEvents, type Event } from '../../src/jobs/event.ts'
import { NeverRetry, Snooze } from '../../src/jobs/errors.ts'
import { requestCancel } from '../../src/sql/request-cancel.ts'
import { requestStop } from '../../src/sql/request-stop.ts'
import { createCompleter, type End } from '../../src/workers/completer.ts'
import { defineKind, type KindDefinition, type OwnKind } from '../../src/workers/define-kind.ts'
import type { PoolSpec } from '../../src/workers/dispatcher.ts'
import { createFollowedLane } from '../../src/workers/followed-lane.ts'
import { followUpsOf } from '../../src/workers/follow-ups.ts'
import type { FailureFollower } from '../../src/workers/handler.ts'
import { createMaintenance } from '../../src/workers/maintenance.ts'
import { createPulses } from '../../src/workers/pulses.ts'
import { runsOf } from '../../src/workers/run.ts'
import { claimOf, registerTestKinds, storedJob, testTenant, testWorker } from '../sql/support.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from './support.ts'

let database: TestDatabase
let engine: TestEngine | undefined

beforeEach(async () => {
  database = await testDatabase()
  // In the transaction of the move: `status` is the one that it has made.
  await database.sql('create table followed (job_id uuid, move text, error text, status text)')
})
afterEach(async () => {
  await engine?.stop(0)
  engine = undefined
  await database.drop()
})

const note: FailureFollower = async (tx, job, { move, error }) => {
  await tx.query('insert into followed select id, $2, $3, status::text from mdm.aa_job where id = $1', [
    job.id,
    move,
    error,
  ])
}

const payload = z.looseObject({})
const kind = (run: KindDefinition<typeof payload>['run'], onFailure: FailureFollower = note): OwnKind =>
  defineKind({ name: 'follows', payload, run, onFailure, defaults: { maxAttempts: 1 } })

/** Of this kind alone. */
const poolOf = (name: string): PoolSpec => ({ name, slots: 1, kinds: [name], tenantIds: null, dispatch: 'fair' })

async function enqueue(): Promise<string> {
  const [row] = await database.sql<{ job_id: string }>(`select job_id from mdm.enqueue_job('follows', '{}')`)
  return row!.job_id
}

const becomes = (id: string, status: string) =>
  until(async () => (await storedJob(database, id))?.status === status, `the job is ${status}`)
const followed = async () => database.sql('select * from followed')

describe('by the worker that has the run', () => {
  test('a failure for good', async () => {
    engine = await startEngine(database, [kind(() => Promise.reject(new NeverRetry('no use')))])
    const id = await enqueue()
    await becomes(id, 'dlq')
    expect(await followed()).toEqual([{ job_id: id, move: 'dlq', error: 'Error: no use', status: 'dlq' }])
  })

  test.each([
    ['stop', requestStop, 'broken'],
    ['cancel', requestCancel, 'not wanted'],
  ] as const)('%s: whether the handler fails or asks to come back', async (move, request, reason) => {
    for (const thrown of [new Error('it obeys'), new Snooze(60_000)]) {
      await database.sql('truncate followed')
      const gate = Promise.withResolvers<void>()
      const running = Promise.withResolvers<void>()
      engine = await startEngine(database, [
        kind(async () => {
          running.resolve()
          await gate.promise
          throw thrown
        }),
      ])
      const id = await enqueue()
      await running.promise
      await request(engine.pools.api, id, null, null, 'user:ada', reason, 'r')
      gate.resolve()
      await becomes(id, 'failed')
      expect(await followed()).toEqual([{ job_id: id, move, error: reason, status: 'failed' }])
      await engine.stop()
    }
  })

  test('what it enqueues starts with the commit, long before a poll', async () => {
    const amends = Promise.withResolvers<void>()
    const onFailure: FailureFollower = async (tx) => void (await tx.enqueue({ kind: 'amends', payload: {} }))
    engine = await startEngine(
      database,
      [
        kind(() => Promise.reject(new NeverRetry('no use')), onFailure),
        defineKind({ name: 'amends', payload, run: async () => amends.resolve() }),
      ],
      { pollMs: 60_000, pools: ['follows', 'amends'].map(poolOf) },
    )
    await until(() => engine!.claims.length >= 2, 'both pools have looked')
    await database.sql(`select mdm.enqueue_job('follows', '{}', notify => false)`)
    let heard = 0
    engine.wakeup.on('work', () => (heard += 1))
    engine.wakeup.signal('work', new Set(['follows']))
    await until(() => heard > 1, 'the commit of the failure is told')
    await amends.promise
    expect(await database.sql('select job_kind as kind from mdm.aa_job order by 1')).toEqual([
      { kind: 'amends' },
      { kind: 'follows' },
    ])
  })

  test('a conflict has the move and what follows it made again', async () => {
    let calls = 0
    const onFailure: FailureFollower = async (tx, job, outcome) => {
      calls += 1
      await note(tx, job, outcome)
      if (calls === 1) await tx.query(`do $$ begin raise exception using errcode = '40P01'; end $$`)
    }
    engine = await startEngine(database, [kind(() => Promise.reject(new NeverRetry('no use')), onFailure)])
    const id = await enqueue()
    await becomes(id, 'dlq')
    expect(calls).toBe(2)
    expect(await followed()).toMatchObject([{ job_id: id, move: 'dlq' }])
  })

  test.each([
    ['throws', async () => Promise.reject(new Error('own rows are in the way'))],
    [
      'hides that one of its statements failed',
      async (tx: Parameters<FailureFollower>[0]) => void (await tx.query('select 1 / 0').catch(() => undefined)),
    ],
  ])('one that %s does not keep the failure from its job, and is told', async (_, onFailure) => {
    engine = await startEngine(database, [kind(() => Promise.reject(new NeverRetry('no use')), onFailure)])
    const id = await enqueue()
    await becomes(id, 'dlq')
    await until(
      () => engine!.told.some((event) => event.type === 'loop:failed' && event.loop === 'onFailure of follows'),
      'it is told',
    )
    expect(await database.sql('select from mdm.aa_claim')).toEqual([])
  })

  test('a claim that goes back unstarted while a stop was asked for', async () => {
    await registerTestKinds(database.pool, ['follows'])
    const tenantId = await testTenant(database)
    await database.sql(`insert into mdm.aa_job (tenant_id, job_kind) values ($1, 'follows')`, [tenantId])
    const worker = await testWorker(database.pool)
    const { rows, lease } = await claimOf(database.pool, worker, tenantId, ['follows'], 1)
    const [run] = runsOf(rows, lease)
    await requestStop(database.pool, run!.id, null, null, 'user:ada', 'broken', 'r')
    const told: Event[] = []
    const events = createEvents((error) => {
      throw error
    })
    events.on((event) => told.push(event))
    const pulse = createPulses(Infinity).of('completer')
    const plain = createCompleter({ pool: database.pool, events, pulse, worker, afterCommit: () => {} })
    const own = kind(async () => {})
    const kinds = new Map([['follows', { kind: own, handler: own.run, onFailure: note }]])
    const lane = createFollowedLane({ pool: database.pool, kinds, plain, events })
    const end = { run: run!, move: 'release', durationMs: 0, delayMs: 0, cause: 'shutdown', unstarted: true } as const
    expect(lane.takes(end)).toBe(true)
    lane.settle(end satisfies End)
    expect(lane.pending()).toBe(1)
    await lane.below(0)
    expect(await followed()).toEqual([{ job_id: run!.id, move: 'stop', error: 'broken', status: 'failed' }])
    const release = { cause: 'shutdown', unstarted: true }
    expect(told).toMatchObject([{ type: 'jobs:ended', ends: [{ outcome: 'stopped', release }] }])
  })
})

describe('by recovery', () => {
  const recover = async (onFailure: FailureFollower) => {
    await registerTestKinds(database.pool, ['follows', 'plain'])
    const tenantId = await testTenant(database)
    const [, , stopped] = await database.sql<{ id: string }>(
      `insert into mdm.aa_job (tenant_id, job_kind, max_attempts) select $1, k, 1 from unnest(array['plain', 'follows', 'follows']) k returning id`,
      [tenantId],
    )
    await claimOf(database.pool, await testWorker(database.pool), tenantId, ['follows', 'plain'], 3)
    await requestStop(database.pool, stopped!.id, null, null, 'user:ada', 'broken', 'r')
    const told: Event[] = []
    const events = createEvents((error) => {
      throw error
    })
    events.on((event) => told.push(event))
    const maintenance = createMaintenance({
      pool: database.pool,
      events,
      everyMs: 60_000,
      deadAfterMs: 0,
      onRecovered: () => undefined,
      followUps: followUpsOf([kind(async () => {}, onFailure)]),
    })
    expect(await maintenance.runOnce()).toHaveLength(3)
    return told
  }

  test('the own rows of what does not come back follow', async () => {
    await recover(note)
    expect(await database.sql('select move, error, status from followed order by move')).toEqual([
      { move: 'dlq', error: ' [stale-claim recovered]', status: 'dlq' },
      { move: 'stop', error: 'broken', status: 'failed' },
    ])
  })

  test.each<[string, FailureFollower]>([
    ['throws', async (tx) => void (await tx.query('select 1 / 0'))],
    ['hides it', async (tx) => void (await tx.query('select 1 / 0').catch(() => undefined))],
    [
      'is cancelled',
      async (tx) => void (await tx.query(`do $$ begin raise exception using errcode = '57014'; end $$`)),
    ],
  ])('an onFailure that fails (%s) keeps no job from its recovery', async (_, onFailure) => {
    const told = await recover(onFailure)
    expect(told.filter(({ type }) => type === 'loop:failed')).toHaveLength(2)
    expect(await database.sql(`select from mdm.aa_job where status in ('dlq', 'failed')`)).toHaveLength(3)
  })
})
