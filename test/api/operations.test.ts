import { createHmac } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kind, parse, type OperationDefinitionNode } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '../../src/jobs/permissions.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { presetTabs, type PresetTab } from '../../src/server/preset-tabs.ts'
import { version } from '../../src/version.ts'
import { socketClient } from '../server/support.ts'
import { ask } from '../start/ask.ts'
import { startService, type Service } from '../support/service.ts'
import { startSmtpScript, type SmtpScript } from '../support/smtp-script.ts'

// What a test asks for it knows the shape of.
// oxlint-disable-next-line typescript/no-explicit-any
type Message = any

/** The operations that clients use, as GraphiQL offers them: each is run here, in the order in which people try them. */
const tabs = new Map(presetTabs(buildSchema()).map((tab) => [nameOf(tab), tab]))
const left = new Set(tabs.keys())

const webhookSecret = 'a secret of tests'

let dataDir: string
let smtp: SmtpScript
let service: Service
/** What the provider says of each address; unset: it takes the mail. */
let reply: (to: string) => string | undefined = () => undefined

beforeAll(async () => {
  smtp = await startSmtpScript()
  smtp.answer = (stage, to) => (stage === 'rcpt' ? reply(to) : undefined)
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-operations-'))
  const settings = {
    SMTP_URL: smtp.url,
    STELLWERK_KIND_EMAIL_SEND: '{"maxAttempts":1}',
    STELLWERK_MAIL_WEBHOOK_SECRET: webhookSecret,
  }
  service = startService({ dataDir, settings })
  await service.started()
})
afterAll(async () => {
  await service?.stop()
  await smtp?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

function nameOf({ query }: PresetTab): string {
  const [operation] = parse(query).definitions.filter((each) => each.kind === Kind.OPERATION_DEFINITION)
  return (operation as OperationDefinitionNode).name!.value
}

/** Runs a tab's operation, with the variables of the tab unless others are given; answers its only root field. */
async function run(name: string, variables?: object) {
  const { query, variables: preset } = tabs.get(name)!
  const { data, errors } = await ask(service, query, variables ?? JSON.parse(preset ?? '{}'))
  expect(errors).toEqual([])
  left.delete(name)
  return name === 'WhoAmI' ? data : Object.values(data)[0]
}

/** The messages of a tab's subscription, over a WebSocket, until one is the last that is wanted or it ends. */
async function watch(name: string, variables: object, isLast: (message: Message) => boolean = () => false) {
  const client = socketClient(await service.url(), `Bearer ${await service.token()}`)
  const messages: Message[] = []
  for await (const { data, errors } of client.iterate({ query: tabs.get(name)!.query, variables: { ...variables } })) {
    expect(errors).toBeUndefined()
    messages.push(Object.values(data!)[0])
    if (isLast(messages.at(-1))) break
  }
  await client.dispose()
  left.delete(name)
  return messages
}

const ended = async (id: string): Promise<string> => (await watch('WatchJob', { id })).at(-1).job.status

/** Sends mails with an address each, and waits for their ends. */
async function send(...addresses: string[]): Promise<string[]> {
  const jobs = addresses.map((address) => ({
    job: { emailSend: { to: { address }, content: { subject: 'S', text: 'T' } } },
  }))
  const { results } = await run('EnqueueMany', { jobs })
  const ids = results.map(({ job }: { job: { id: string } }) => job.id)
  await Promise.all(ids.map(ended))
  return ids
}

const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const anyJobId = expect.stringMatching(/^job_[0-9a-f-]{36}$/)

test('1, 2 — who am I, what kinds are there', async () => {
  expect(await run('WhoAmI')).toEqual({
    viewer: {
      principal: { id: expect.any(String), name: 'development token', kind: 'SERVICE' },
      scopes: expect.toSatisfy((held: string[]) => scopes.every((scope) => held.includes(scope))),
      allTenants: true,
      expiresAt: null,
      budget: null,
    },
    service: { version, bus: 'POSTGRES', streamLagSeconds: expect.any(Number) },
  })
  const kinds = await run('Kinds')
  expect(kinds.find(({ name }: { name: string }) => name === 'email_send')).toMatchObject({
    inputField: 'emailSend',
    payloadExample: { to: expect.anything() },
    retry: { maxAttempts: 1, schedule: [] },
    stats: { pending: 0, running: 0, dlq: 0 },
  })
  for (const kind of kinds)
    expect(kind).toMatchObject({ description: expect.stringMatching(/\w/), defaultPriority: expect.any(Number) })
})

test('3, 5 — enqueue, typed, and watch it', async () => {
  const first = await run('EnqueueEmail')
  expect(first).toEqual({
    outcome: 'CREATED',
    job: { id: anyJobId, status: 'PENDING', streamCursor: expect.any(String) },
    errors: [],
  })
  const { id, streamCursor } = first.job
  const messages = await watch('WatchJob', { id })
  expect(messages[0]).toMatchObject({ type: 'SNAPSHOT', event: null, job: { id, maxAttempts: 1 } })
  expect(messages.at(-1)).toMatchObject({ job: { status: 'DONE', attemptCount: 1, lastError: null } })
  const behind = await watch('WatchJob', { id, after: streamCursor })
  expect(behind.map(({ event }) => event.type)).toEqual(['CLAIMED', 'SUCCEEDED'])
  expect(await run('EnqueueEmail')).toMatchObject({ outcome: 'DUPLICATE', job: { id, status: 'DONE' } })
  expect(smtp.mails).toMatchObject([{ to: 'ada@example.org', raw: expect.stringContaining('Subject: Welcome, Ada') }])
})

test('4 — enqueue, any kind', async () => {
  const before = Date.now()
  const { outcome, job } = await run('EnqueueAny')
  expect(outcome).toBe('CREATED')
  expect(Date.parse(job.availableAt) - before).toBeGreaterThan(9_000)
  await run('Cancel', { id: job.id })
  const wrong = await run('EnqueueAny', { kind: 'email_send', payload: { to: { address: 'nobody' } } })
  expect(wrong).toMatchObject({
    job: null,
    errors: expect.arrayContaining([
      expect.objectContaining({ code: 'INVALID', pointer: '/to/address', keyword: 'pattern' }),
    ]),
  })
})

/** What the provider tells when it could not hand a mail on. */
async function bounced(id: string): Promise<void> {
  const body = JSON.stringify({ events: [{ id, type: 'bounced', permanent: true }] })
  const time = Math.floor(Date.now() / 1_000)
  const signature = createHmac('sha256', webhookSecret).update(`${time}.${body}`).digest('hex')
  const response = await fetch(`${await service.url()}/webhooks/email/smtp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-stellwerk-signature': `t=${time},v1=${signature}` },
    body,
  })
  expect(await response.json()).toEqual({ matched: 1 })
}

let dead: string[]

describe('what died', () => {
  test('6, 7 — dead letters, by cause and one by one', async () => {
    reply = (to) => (to.startsWith('late') ? '451 4.2.0 timeout of the mailbox' : undefined)
    dead = await send('late1@example.org', 'late2@example.org', 'late3@example.org', 'late4@example.org')
    const groups = await run('DeadLetterGroups')
    expect(groups).toMatchObject([
      {
        kind: { name: 'email_send' },
        count: 4,
        firstAt: isoTime,
        lastAt: isoTime,
        error: { message: expect.stringContaining('timeout of the mailbox'), fingerprint: expect.any(String) },
        sample: { id: expect.toBeOneOf(dead) },
      },
    ])
    const letters = await run('DeadLetters')
    expect(letters).toMatchObject({ totalCount: { count: 4, precision: 'EXACT' }, pageInfo: { hasNextPage: false } })
    expect(letters.nodes.map(({ id }: { id: string }) => id).toSorted()).toEqual(dead.toSorted())
    expect(letters.nodes[0]).toMatchObject({
      kind: { name: 'email_send' },
      tenant: { name: expect.any(String) },
      attemptCount: 1,
      completedAt: isoTime,
      lastError: { message: expect.stringContaining('timeout') },
      payload: { to: { address: expect.stringMatching(/^late/) } },
      allowedActions: expect.arrayContaining(['REPLAY', 'DISCARD', 'STOP']),
    })
  })

  test('8 — replay one', async () => {
    reply = () => undefined
    const id = dead[0]!
    expect(await run('ReplayJob', { id })).toMatchObject({
      job: { id, status: 'PENDING', attemptCount: 0, availableAt: isoTime },
      errors: [],
    })
    expect(await ended(id)).toBe('DONE')
    expect(await run('ReplayJob', { id })).toMatchObject({
      errors: [{ code: 'CONFLICT', job: { status: 'DONE', revision: expect.any(Number) } }],
    })
  })

  test('9, 10, 11 — a bulk replay: looked at, done, followed', async () => {
    expect(await run('ReplayPreview')).toMatchObject({
      preview: {
        matched: { count: 3, precision: 'EXACT' },
        rows: [{ kind: { name: 'email_send' }, tenant: { name: expect.any(String) }, count: 3 }],
        sample: [{ id: dead[1] }, { id: dead[2] }, { id: dead[3] }],
      },
      errors: [],
    })
    expect(await run('ReplayNow', { n: 4 })).toMatchObject({
      operation: null,
      errors: [{ code: 'COUNT_MISMATCH', limit: 4, actual: 3 }],
    })
    const { operation } = await run('ReplayNow', { n: 3 })
    expect(operation).toMatchObject({ id: expect.stringMatching(/^bulk_/), matched: 3 })
    const states = await watch('WatchBulk', { id: operation.id })
    expect(states.at(-1)).toEqual({ status: 'COMPLETED', processed: 3, matched: 3, succeeded: 3, skipped: 0 })
    expect(await Promise.all(dead.map(ended))).toEqual(['DONE', 'DONE', 'DONE', 'DONE'])
  })

  test('12 — discard one', async () => {
    reply = (to) => (to.startsWith('late') ? '451 4.2.0 timeout of the mailbox' : undefined)
    const [id] = await send('late5@example.org')
    expect(await run('DiscardJob', { id })).toMatchObject({
      discardedJobId: id,
      auditEntry: {
        id: expect.stringMatching(/^audit_/),
        snapshot: { from: 'dlq', snapshot: { payload: { to: { address: 'late5@example.org' } } } },
      },
      errors: [],
    })
    expect(await run('JobDetail', { id })).toBeNull()
  })

  test('13 — one job, everything', async () => {
    const job = await run('JobDetail', { id: dead[0] })
    expect(job).toMatchObject({
      id: dead[0],
      status: 'DONE',
      payload: { to: { address: 'late1@example.org' } },
      payloadText: expect.stringContaining('late1@example.org'),
      payloadRedacted: false,
      waitReasons: [],
      kind: { name: 'email_send' },
      tenant: { id: 'tenant_default' },
      enqueuedBy: { name: 'development token', kind: 'SERVICE' },
      stop: null,
      auditLog: {
        nodes: expect.arrayContaining([expect.objectContaining({ action: 'JOB_REPLAY', reason: 'provider is back' })]),
      },
      emailLogs: { nodes: [{ recipient: 'late1@example.org', status: 'SENT', providerMessageId: expect.any(String) }] },
    })
    expect(job.events.nodes.map(({ type }: { type: string }) => type)).toEqual([
      'ENQUEUED',
      'CLAIMED',
      'DEAD_LETTERED',
      'REPLAYED',
      'CLAIMED',
      'SUCCEEDED',
    ])
    expect(job.events.nodes.map(({ revision }: { revision: number }) => revision)).toEqual([1, 2, 3, 4, 5, 6])
    expect(job.attempts.nodes).toMatchObject([
      { number: 2, outcome: 'SUCCEEDED', error: null, finishedAt: isoTime },
      { number: 1, outcome: 'DEAD_LETTERED', error: { message: expect.stringContaining('timeout') } },
    ])
  })
})

test('14, 15, 23 — a list, and what changes in it', async () => {
  const filter = { status: ['PENDING'] }
  const empty = await run('JobList', { filter, first: 20 })
  expect(empty).toMatchObject({ totalCount: { count: 0, precision: 'EXACT' }, nodes: [] })
  const watching = watch('JobListUpdates', { filter, after: empty.streamCursor }, ({ updates }) =>
    updates.some(({ matchesFilter }: { matchesFilter: boolean }) => !matchesFilter),
  )
  const jobs = [1, 2].map((hours) => ({
    schedule: { after: `PT${hours}H` },
    job: { emailSend: { to: { address: `in${hours}@example.org` }, content: { subject: 'S', text: 'T' } } },
  }))
  const { created, results } = await run('EnqueueMany', { jobs })
  expect(created).toBe(2)
  const [id, other] = results.map(({ job }: { job: { id: string } }) => job.id)
  const later = await run('Later', { id: other })
  expect(Date.parse(later.job.availableAt) - Date.now()).toBeLessThan(3_600_001)
  expect(await run('First', { id })).toEqual({ job: { id, priority: 10 }, errors: [] })
  const listed = await run('JobList', { filter, first: 1, orderBy: { field: 'PRIORITY', direction: 'ASC' } })
  expect(listed).toMatchObject({
    totalCount: { count: 2 },
    pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
    nodes: [{ id, priority: 10, allowedActions: expect.arrayContaining(['CANCEL', 'RUN_NOW', 'RESCHEDULE']) }],
  })
  expect(await run('Now', { id })).toMatchObject({ job: { id, availableAt: isoTime }, errors: [] })
  const batches = await watching
  expect(batches.flatMap(({ updates }) => updates).at(0)).toMatchObject({
    type: 'EVENT',
    job: { kind: { name: 'email_send' } },
  })
  expect(batches.every(({ resync }) => !resync)).toBe(true)
  expect(await ended(id)).toBe('DONE')
  expect(await run('Stop', { id: other })).toEqual({ job: { id: other, status: 'FAILED' }, errors: [] })
  expect(await run('Cancel', { id: other })).toMatchObject({ errors: [{ code: 'CONFLICT' }] })
})

test('16, 17 — numbers, live and as a chart', async () => {
  // The first tick may be a second old.
  const ticks = await watch('Pulse', {}, ({ total }) => total.failed === 2)
  const tick = ticks.at(-1)
  expect(tick).toMatchObject({ at: isoTime, total: { pending: 0, running: 0, dlq: 0, failed: 2 } })
  expect(tick.total.wait.p95).toBeGreaterThan(0)
  expect(tick.rows.map(({ kind }: { kind: { name: string } }) => kind.name)).toContain('email_send')
  const series = await run('Charts')
  const of = (metric: string) =>
    series.find((each: Message) => each.metric === metric && each.kind.name === 'email_send')
  const sum = (metric: string) =>
    of(metric).points.reduce((all: number, { value }: { value: number | null }) => all + (value ?? 0), 0)
  expect(sum('DONE')).toBe(6)
  expect(sum('ERRORS')).toBe(5)
  expect(of('WAIT_P95').points.at(-1).at).toEqual(isoTime)
})

test('18 — instances', async () => {
  const [instance, ...others] = await run('Instances')
  expect(others).toEqual([])
  expect(instance).toMatchObject({ pid: service.pid, version, startedAt: isoTime, subscriptions: 0 })
  expect(instance.workers.length).toBeGreaterThan(0)
  for (const worker of instance.workers)
    expect(worker).toEqual({ name: expect.stringContaining(String(service.pid)), state: 'IDLE', currentJob: null })
  const [living] = await watch('InstancesLive', {}, () => true)
  expect(living).toMatchObject([
    { id: instance.id, workers: instance.workers.map(() => ({ id: expect.stringMatching(/^worker_/) })) },
  ])
})

test('19, 20 — a pause and a limit', async () => {
  const { pause, errors } = await run('Pause')
  expect(errors).toEqual([])
  expect(pause).toEqual({ id: expect.stringMatching(/^pause_/), since: isoTime, until: '2030-01-01T00:00:00.000Z' })
  expect(await run('Resume')).toEqual({ pause: { id: pause.id }, errors: [] })
  expect(await run('Limit')).toEqual({
    rateLimit: { limit: { rps: 5, burst: 10 }, overridden: true, hitsPerMinute: 0 },
    errors: [],
  })
})

test('21 — audit, email, suppressions', async () => {
  const { nodes, pageInfo } = await run('Audit')
  expect(pageInfo.hasNextPage).toBe(false)
  expect(nodes.map(({ action }: { action: string }) => action).toSorted()).toEqual([
    'JOB_DISCARD',
    ...Array(4).fill('JOB_REPLAY'),
  ])
  expect(nodes[0]).toMatchObject({
    at: isoTime,
    actor: { name: 'development token' },
    jobId: anyJobId,
    requestId: expect.any(String),
  })
  const sent = await run('JobDetail', { id: dead[0] })
  await bounced(sent.emailLogs.nodes[0].providerMessageId)
  expect((await run('Emails')).nodes).toEqual([
    {
      createdAt: isoTime,
      recipient: 'late1@example.org',
      status: 'BOUNCED',
      provider: 'smtp',
      providerMessageId: sent.emailLogs.nodes[0].providerMessageId,
      job: { id: dead[0] },
    },
  ])
  expect(await run('Suppress')).toMatchObject({
    suppression: { id: expect.stringMatching(/^suppression_/), address: 'gone@example.org' },
    errors: [],
  })
})

test('every operation was run', () => {
  expect([...left]).toEqual([])
})

test('none is kept from GraphiQL because it is not valid', async () => {
  const text = await readFile(new URL('../../src/server/preset-operations.graphql', import.meta.url), 'utf8')
  const named = parse(text).definitions.flatMap((each) =>
    each.kind === Kind.OPERATION_DEFINITION ? [each.name!.value] : [],
  )
  expect([...tabs.keys()]).toEqual(named)
  expect(named.length).toBeGreaterThan(30)
})
