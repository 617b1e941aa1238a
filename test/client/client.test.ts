import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CancelDocument, createClient, NowDocument, WhoAmIDocument } from '../../client/src/index.ts'
import type { Client, JobUpdate } from '../../client/src/index.ts'
import { token } from '../server/support.ts'
import { ask } from '../start/ask.ts'
import type { Service } from '../support/service.ts'
import { httpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { laterEmail, serviceForClients } from './service.ts'

let service: Service
let end: () => Promise<void>
let url: string
let proxy: TcpProxy
/** Straight to the service. */
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

const reprioritize =
  'mutation ($id: ID!, $priority: Int!) { reprioritizeJob(input: { id: $id, priority: $priority }) { errors { message } } }'
const enqueueLater = async () => (await direct.enqueue(laterEmail)).job

describe.each(['events', 'socket'] as const)('over %s', (transport) => {
  const client = async (at = url): Promise<Client> => createClient({ url: at, token: await service.token(), transport })

  test('50 cuts during 200 transitions: no gap, no doubles, and it ends with the job', async () => {
    const { id, revision } = await enqueueLater()
    const updates: JobUpdate[] = []
    const watching = (async () => {
      for await (const update of (await client(proxy.url)).watch(id)) updates.push(update)
    })()
    await until(() => updates.length > 0, 'the SNAPSHOT is there')
    let atCut = 0
    for (let transition = 1; transition <= 200; transition++) {
      const { data } = await ask(service, reprioritize, { id, priority: transition })
      expect(data.reprioritizeJob.errors).toEqual([])
      if (transition % 4 !== 0) continue
      // Most cuts come in the middle of a stream, some before its first message.
      const heard = transition % 40 === 0 ? () => true : () => updates.length > atCut
      await until(() => proxy.connections() > 0 && heard(), 'the client is back')
      atCut = updates.length
      proxy.cut()
    }
    await direct.run(CancelDocument, { id })
    await watching

    expect(updates.filter(({ type }) => type === 'SNAPSHOT')).toHaveLength(1)
    const revisions = updates.flatMap(({ event }) => (event === null ? [] : [event.revision]))
    expect(revisions).toEqual(Array.from({ length: 201 }, (_, index) => revision + index + 1))
    expect(updates.at(-1)).toMatchObject({ type: 'EVENT', job: { status: 'FAILED' } })
  }, 60_000)

  test('a watch that begins behind a cursor has no SNAPSHOT, one that has ended is empty', async () => {
    const { id, streamCursor } = await enqueueLater()
    await direct.run(NowDocument, { id })
    await direct.waitFor(id)
    const types: string[] = []
    let last = streamCursor
    for await (const { event, cursor } of (await client()).watch(id, { after: streamCursor })) {
      types.push(event!.type)
      last = cursor
    }
    expect(types.at(-1)).toBe('SUCCEEDED')
    for await (const update of (await client()).watch(id, { after: last })) expect(update).toBe('nothing')
  })

  test('what cannot get better is thrown, with its code', async () => {
    const stranger = (await client()).watch('job_0197f3c2-0000-7000-8000-000000000000').next()
    await expect(stranger).rejects.toMatchObject({ name: 'ClientError', code: 'NOT_FOUND' })
    const unknown = createClient({ url, token: 'sw_unknown', transport }).watch('job_x').next()
    await expect(unknown).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const expired = createClient({ url, token: await token({}, { secondsLeft: -300 }), transport })
      .watch('job_x')
      .next()
    await expect(expired).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('a signal ends it quietly, and so does leaving', async () => {
    const { id } = await enqueueLater()
    const leave = new AbortController()
    for await (const update of (await client()).watch(id, { signal: leave.signal })) {
      expect(update.type).toBe('SNAPSHOT')
      leave.abort()
    }
    for await (const update of (await client()).watch(id)) {
      expect(update.type).toBe('SNAPSHOT')
      break
    }
    await until(async () => /mdm_subscriptions 0$/m.test(await (await fetch(`${url}/metrics`)).text()), 'both are gone')
  })
})

test('waits for a job, and answers it as it ended', async () => {
  const { id } = await enqueueLater()
  const waiting = direct.waitFor(id)
  await direct.run(NowDocument, { id })
  expect(await waiting).toMatchObject({ id, status: 'DONE', attemptCount: 1 })
  const given = direct.waitFor((await enqueueLater()).id, { signal: AbortSignal.timeout(50) })
  await expect(given).rejects.toMatchObject({ name: 'TimeoutError' })
})

test('an enqueue with a key is tried again until the service answers, and makes one job', async () => {
  const client = createClient({ url: proxy.url, token: await service.token() })
  proxy.mode('closed')
  const enqueueing = client.enqueue({ ...laterEmail, idempotencyKey: 'once' })
  await expect(client.enqueue(laterEmail)).rejects.toMatchObject({ code: 'NETWORK' })
  proxy.mode('open')
  const { job } = await enqueueing
  expect(await direct.enqueue({ ...laterEmail, idempotencyKey: 'once' })).toMatchObject({
    outcome: 'DUPLICATE',
    job: { id: job.id },
  })
})

test('what an input is refused for is thrown', async () => {
  const broken = { job: { emailSend: { ...laterEmail.job.emailSend, to: { address: 'nobody' } } } }
  await expect(direct.enqueue(broken)).rejects.toMatchObject({
    name: 'ClientError',
    code: 'INVALID',
    path: ['job', 'emailSend'],
    pointer: '/to/address',
  })
})

test('any typed operation can be run', async () => {
  const { viewer } = await direct.run(WhoAmIDocument, {})
  expect(viewer.principal.name).toBe('development token')
  await expect(direct.run(CancelDocument, {} as never)).rejects.toMatchObject({
    code: 'BAD_USER_INPUT',
    requestId: expect.any(String),
  })
})

test.each([
  [
    { url: undefined, token: 'sw_x' },
    'createClient: url must be an address such as https://jobs.example.org, not undefined.',
  ],
  [{ url: 'foo', token: 'sw_x' }, 'createClient: url must be an address such as https://jobs.example.org, not foo.'],
  [{ url: 'http://127.0.0.1:1', token: undefined }, 'createClient: token must be an API key or a JWT, or a function'],
  [{ url: 'http://127.0.0.1:1', token: '' }, 'createClient: token must be an API key or a JWT, or a function'],
])('what a forgotten variable leaves out is said at once (%o)', (options, sentence) => {
  expect(() => createClient(options as never)).toThrow(sentence)
})
