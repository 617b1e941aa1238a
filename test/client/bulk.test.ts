import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, JobListDocument } from '../../client/src/index.ts'
import type { BulkState, Client } from '../../client/src/index.ts'
import { ask } from '../start/ask.ts'
import type { Service } from '../support/service.ts'
import { httpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { laterEmail, serviceForClients } from './service.ts'

let service: Service
let end: () => Promise<void>
let url: string
let proxy: TcpProxy
let direct: Client

beforeAll(async () => {
  ;({ service, end } = await serviceForClients())
  url = await service.url()
  proxy = await httpProxy(url)
  direct = createClient({ url, token: await service.token() })
})
afterAll(async () => {
  await proxy?.close()
  await end?.()
})

/** Jobs that wait for an hour, under a tag of their own. */
async function waiting(count: number, tag: string): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => direct.enqueue({ ...laterEmail, tags: [tag] })))
}
const statuses = async (tag: string): Promise<string[]> =>
  (await direct.run(JobListDocument, { filter: { tag: [tag] }, first: 100 })).jobs.nodes.map(({ status }) => status)

describe.each(['events', 'socket'] as const)('over %s', (transport) => {
  const client = async (at = url): Promise<Client> => createClient({ url: at, token: await service.token(), transport })

  test('is looked at, begun, followed over cuts and waited for', async () => {
    const tag = `followed by ${transport}`
    await waiting(30, tag)
    const bulk = (await client(proxy.url)).bulk('stop', { filter: { tag: [tag] } })
    const { matched, rows, sample } = await bulk.preview()
    expect({ matched, rows }).toEqual({
      matched: { count: 30, precision: 'EXACT' },
      rows: [{ kind: { name: 'email_send' }, tenant: { key: 'default' }, count: 30 }],
    })
    expect(sample).toHaveLength(10)
    expect(new Set(await statuses(tag))).toEqual(new Set(['PENDING']))

    const run = await bulk.start({ ratePerSecond: 20, reason: 'a test' })
    const states: BulkState[] = []
    for await (const state of run.watch()) {
      states.push(state)
      if (states.length < 4) proxy.cut()
    }
    expect(states.length).toBeGreaterThan(3)
    const progress = states.map(({ processed }) => processed)
    expect(progress).toEqual(progress.toSorted((a, b) => a - b))
    expect(states.at(-1)).toMatchObject({ status: 'COMPLETED', action: 'STOP', matched: 30, succeeded: 30, skipped: 0 })
    expect(await run.wait()).toEqual(states.at(-1))
    expect(await statuses(tag)).toEqual(Array.from({ length: 30 }, () => 'FAILED'))
  })

  test('is aborted: what is done stays done', async () => {
    const tag = `aborted by ${transport}`
    await waiting(30, tag)
    const run = await (await client()).bulk('stop', { filter: { tag: [tag] } }).start({ ratePerSecond: 4 })
    for await (const { processed } of run.watch()) if (processed > 0) break
    const aborted = await (await client()).bulkOperation(run.id).abort()
    expect(aborted).toMatchObject({ id: run.id, status: 'CANCELLED', finishedAt: expect.any(String) })
    const { succeeded } = await run.wait()
    expect((await statuses(tag)).filter((status) => status === 'FAILED')).toHaveLength(succeeded)
    expect(succeeded).toBeGreaterThan(0)
    expect(succeeded).toBeLessThan(30)
  })

  test('a signal ends the waiting and not the operation', async () => {
    const tag = `left alone by ${transport}`
    await waiting(3, tag)
    const run = await (await client()).bulk('stop', { filter: { tag: [tag] } }).start({ ratePerSecond: 2 })
    await expect(run.wait({ signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: 'TimeoutError' })
    expect(await run.wait()).toMatchObject({ status: 'COMPLETED', succeeded: 3 })
  })
})

test('takes no other number than was previewed', async () => {
  await waiting(2, 'counted')
  const bulk = direct.bulk('stop', { filter: { tag: ['counted'] } })
  await bulk.preview()
  await waiting(1, 'counted')
  await expect(bulk.start()).rejects.toMatchObject({ name: 'ClientError', code: 'COUNT_MISMATCH' })
  await expect(bulk.start({ expectedCount: 4 })).rejects.toMatchObject({ code: 'COUNT_MISMATCH' })
  const run = await bulk.start({ expectedCount: 3 })
  expect(await run.wait()).toMatchObject({ succeeded: 3 })
})

test('a discard has to be counted before, and what is refused is thrown', async () => {
  const bulk = direct.bulk('discard', { filter: { tag: ['counted'] } })
  await expect(bulk.start()).rejects.toMatchObject({ name: 'ClientError', code: 'INVALID' })
  expect((await bulk.preview()).matched.count).toBe(3)
  expect(await (await bulk.start()).wait()).toMatchObject({ action: 'DISCARD', succeeded: 3 })
  await expect(direct.bulk('stop', { filter: {} }).preview()).rejects.toMatchObject({ code: 'INVALID' })
  const stranger = direct.bulkOperation('bulk_0197f3c2-0000-7000-8000-000000000000')
  await expect(stranger.wait()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(stranger.abort()).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a start whose answer was lost is repeated and is one operation', async () => {
  await waiting(5, 'once')
  const client = createClient({ url: proxy.url, token: await service.token() })
  proxy.mute('ClientCancelJobs')
  const starting = client.bulk('cancel', { filter: { tag: ['once'] } }).start({ expectedCount: 5, reason: 'once' })
  const operations = async (): Promise<readonly { reason: string | null }[]> =>
    (await ask(service, '{ bulkOperations { nodes { reason } } }')).data.bulkOperations.nodes
  await until(async () => (await operations()).some(({ reason }) => reason === 'once'), 'the operation has begun')
  proxy.mute('nothing that is ever said')
  proxy.cut()
  expect(await (await starting).wait()).toMatchObject({ action: 'CANCEL', matched: 5, succeeded: 5 })
  expect((await operations()).filter(({ reason }) => reason === 'once')).toHaveLength(1)
})
