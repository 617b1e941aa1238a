import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind } from '../../src/workers/define-kind.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from '../workers/support.ts'
import { testApi, type TestApi } from './support.ts'

/** The API in one instance, the workers in others: all that they share is the database. */
let api: TestApi
const engines: TestEngine[] = []
const running = new Set<string>()
let finish = Promise.withResolvers<void>()

const obedient = defineKind({
  name: 'obedient',
  payload: z.looseObject({}),
  async run({ job, signal }) {
    running.add(job.id)
    try {
      await Promise.race([once(signal, 'abort'), finish.promise])
      signal.throwIfAborted()
    } finally {
      running.delete(job.id)
    }
  },
})

beforeAll(async () => {
  api = await testApi()
  for (let i = 0; i < 2; i += 1) engines.push(await startEngine(api, [obedient], { slots: 2, pollMs: 60_000 }))
})
afterEach(() => {
  finish.resolve()
  finish = Promise.withResolvers()
})
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.stop(0)))
  await api.stop()
})

const action = async (mutation: string, input: object, type = 'JobActionInput') => {
  const { data, errors } = await api.run(
    `mutation($input: ${type}!) { ${mutation}(input: $input) { errors { message } } }`,
    { input },
  )
  expect(errors).toEqual([])
  expect(data[mutation].errors).toEqual([])
}
const enqueue = async (): Promise<string> => {
  const [row] = await api.sql<{ job_id: string }>(`select job_id from mdm.enqueue_job('obedient', '{}')`)
  return row!.job_id
}
const statusOf = async (id: string) =>
  (await api.sql<{ status: string }>('select status::text from mdm.aa_job where id = $1', [id]))[0]!.status

const runsNow = async (id: string) => (await statusOf(id)) !== 'pending'
const waitCodes = async (id: string): Promise<string[]> => {
  const { data } = await api.run('query($id: ID!) { job(id: $id) { waitReasons { code } } }', { id })
  return data.job.waitReasons.map(({ code }: { code: string }) => code)
}

test.each(['stopJob', 'cancelJob'])(
  '%s reaches a running handler within a second, wherever it runs',
  async (mutation) => {
    const ids = await Promise.all([enqueue(), enqueue(), enqueue(), enqueue()])
    await until(() => running.size === 4, 'both instances run two')
    for (const id of ids) await action(mutation, { id, reason: 'enough' })
    const asked = performance.now()
    await until(() => running.size === 0, 'the handlers have ended', 1_000)
    expect(performance.now() - asked).toBeLessThan(1_000)
    for (const id of ids) {
      await until(async () => (await statusOf(id)) === 'failed', 'the job is failed')
      const rows = await api.sql(
        'select action::text, reason from mdm.aa_audit_log where job_id = $1 order by revision desc limit 2',
        [id],
      )
      const [ended, asking] =
        mutation === 'stopJob' ? ['job_stop', 'job_stop_requested'] : ['job_cancel', 'job_cancel_requested']
      expect(rows).toEqual([
        { action: ended, reason: 'enough' },
        { action: asking, reason: 'enough' },
      ])
    }
  },
)

test('a job that succeeds all the same is done', async () => {
  const id = await enqueue()
  await until(() => running.size === 1, 'it runs')
  // Its end and the request race: either is the truth, and the journal has one end.
  finish.resolve()
  await api.run('mutation($input: JobActionInput!) { stopJob(input: $input) { errors { message } } }', {
    input: { id },
  })
  const status = await until(async () => (await statusOf(id)) !== 'running' && statusOf(id), 'it has ended')
  const ends = await api.sql(
    `select action::text from mdm.aa_audit_log where job_id = $1 and action in ('job_done', 'job_stop')`,
    [id],
  )
  expect(ends).toEqual([{ action: status === 'done' ? 'job_done' : 'job_stop' }])
})

test('a pause holds back what comes; its end lets it go within a second', async () => {
  await action('pauseQueue', { queue: { kind: 'obedient' } }, 'PauseQueueInput')
  // Each instance reads the rules anew on the signal: a job of which nothing was heard since then is held back.
  const id = await until(async () => {
    const next = await enqueue()
    const end = performance.now() + 200
    while (performance.now() < end) if (await runsNow(next)) return null
    return next
  }, 'the pause is in force')
  expect(await waitCodes(id)).toEqual(['PAUSED'])
  await action('resumeQueue', { queue: { kind: 'obedient' } }, 'ResumeQueueInput')
  finish.resolve()
  await until(async () => (await statusOf(id)) === 'done', 'it has run', 1_500)
})

test('a replayed job runs at once', async () => {
  const id = await enqueue()
  await until(() => running.has(id), 'it runs')
  await action('stopJob', { id })
  await until(async () => (await statusOf(id)) === 'failed', 'it is failed')
  await action('replayJob', { id }, 'ReplayJobInput')
  await until(() => running.has(id), 'it runs again', 1_500)
  const [row] = await api.sql('select attempts, runs from mdm.aa_job where id = $1', [id])
  expect(row).toEqual({ attempts: 1, runs: 2 })
})

test('why it waits: all slots are taken', async () => {
  await Promise.all([enqueue(), enqueue(), enqueue(), enqueue()])
  await until(() => running.size === 4, 'all slots are taken')
  const id = await enqueue()
  const ask = async () =>
    (await api.run('query($id: ID!) { job(id: $id) { waitReasons { code position } } }', { id })).data.job.waitReasons
  expect(await ask()).toEqual([{ code: 'IN_LINE', position: 0 }])
  const { data } = await api.run('{ instances { workers { slots busy state kinds { name } currentJobs { id } } } }')
  const pools = data.instances
    .flatMap(({ workers }: { workers: { kinds: { name: string }[] }[] }) => workers)
    .filter(({ kinds }: { kinds: { name: string }[] }) => kinds.some(({ name }) => name === 'obedient'))
  expect(pools).toMatchObject([
    { slots: 2, busy: 2, state: 'BUSY' },
    { slots: 2, busy: 2, state: 'BUSY' },
  ])
})
