import { createServer, type Server, type Socket } from 'node:net'
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DatabaseUnavailable } from '../../src/jobs/errors.ts'
import { createEnqueuer } from '../../src/resolvers/enqueue-batcher.ts'
import type { EnqueueOrder } from '../../src/resolvers/enqueue-order.ts'
import { enqueueOrder } from '../support/enqueue-order.ts'
import { until } from '../support/until.ts'
import { testApi, type TestApi } from './support.ts'

let api: TestApi
let tenantId: string
beforeAll(async () => {
  api = await testApi()
  tenantId = await api.tenant('acme')
})
afterAll(() => api.stop())

const order = (more: Partial<EnqueueOrder> = {}): EnqueueOrder =>
  enqueueOrder({ tenantId, kind: 'echo', requestId: randomUUID(), ...more })
const silent = {
  driver: 'POSTGRES' as const,
  isConnected: () => true,
  signal: () => {},
  others: () => {},
  on: () => () => {},
  tellProgress: () => undefined,
  onProgress: () => () => undefined,
  start: async () => {},
  stop: async () => {},
}
const failure = (answer: Promise<unknown>) =>
  answer.then(
    () => null,
    (error: unknown) => error,
  )

test('nobody listens: refused at once, nothing can have been written', async () => {
  const pool = new pg.Pool({ host: '127.0.0.1', port: 1, max: 1, connectionTimeoutMillis: 4_000 })
  const error = await failure(createEnqueuer({ pool, wakeup: silent }).enqueue(order()))
  expect(error).toBeInstanceOf(DatabaseUnavailable)
  expect(error).toMatchObject({ outcomeUnknown: false })
  await pool.end()
})

test('a server that takes connections and says nothing: within 5 seconds, and for those who wait behind it too', async () => {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => sockets.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const pool = new pg.Pool({ host: '127.0.0.1', port, max: 1, connectionTimeoutMillis: 4_000 })
  const enqueuer = createEnqueuer({ pool, wakeup: silent })
  const started = performance.now()
  const errors = await Promise.all([
    failure(enqueuer.enqueue(order())),
    failure(enqueuer.enqueue(order())),
    failure(enqueuer.enqueueAll([order()])),
  ])
  expect(performance.now() - started).toBeLessThan(5_000)
  for (const error of errors) expect(error).toBeInstanceOf(DatabaseUnavailable)
  sockets.forEach((socket) => socket.destroy())
  server.close()
  await pool.end()
})

test('the connection breaks under the statement: the outcome is unknown; the next call goes through', async () => {
  const blocker = await api.pool.connect()
  await blocker.query('begin')
  await blocker.query('lock mdm.aa_job in access exclusive mode')
  const answer = failure(api.deps.enqueuer.enqueue(order({ tags: ['broken'] })))
  const cut =
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%enqueue' and wait_event_type = 'Lock' and datname = current_database()"
  await until(async () => (await api.sql(cut)).length > 0, 'the statement waits for its lock')
  const error = await answer
  await blocker.query('rollback')
  blocker.release()
  expect(error).toBeInstanceOf(DatabaseUnavailable)
  expect(error).toMatchObject({ outcomeUnknown: true })
  expect(await api.deps.enqueuer.enqueue(order())).toMatchObject({ type: 'enqueued', outcome: 'created' })
})

test('one row that the database refuses harms nobody of its group', async () => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => api.deps.enqueuer.enqueue(order(i % 10 === 7 ? { priority: 5_000 } : {}))),
  )
  expect(answers.map(({ type }) => type)).toEqual(
    Array.from({ length: 40 }, (_, i) => (i % 10 === 7 ? 'refused' : 'enqueued')),
  )
})
