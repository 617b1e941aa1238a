import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, Kind } from 'graphql'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createClient, type JobUpdate } from '../../client/src/index.ts'
import { scopes } from '../../src/jobs/permissions.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { presetTabs } from '../../src/server/preset-tabs.ts'
import { askEvents, ask as askServer, rawSocket, socketClient, token } from '../server/support.ts'
import { ask } from '../start/ask.ts'
import { startSmtpScript } from '../support/smtp-script.ts'
import { startService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Nothing else holds it: wherever it is found, it leaked. */
const canary = `canary-${crypto.randomUUID()}`
const kinds = fileURLToPath(new URL('kinds.ts', import.meta.url))

let dataDir: string
let service: Service
/** May do everything but look into payloads. */
let caller: string

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'stellwerk-canary-'))
  service = startService({ dataDir, settings: { STELLWERK_KINDS: kinds, LOG_LEVEL: 'trace' } })
  await service.started()
  caller = await token(
    { tenants: '*', scope: scopes.filter((scope) => scope !== 'READ_PAYLOADS').join(' ') },
    { secret: (await readFile(join(dataDir, 'jwt.secret'), 'utf8')).trim() },
  )
})
afterAll(async () => {
  await service?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

const enqueue = (payload: object) =>
  ask(
    service,
    `mutation ($payload: JSON!) { enqueueJob(input: { job: { custom: { kind: "indiscreet", payload: $payload } } }) { job { id payload payloadText } errors { code message path } } }`,
    { payload },
    caller,
  )

/** What a stream tells over a WebSocket, up to its last message. */
async function watchSocket(query: string, isLast: RegExp): Promise<string> {
  const client = socketClient(await service.url(), `Bearer ${caller}`)
  let said = ''
  for await (const message of client.iterate({ query })) {
    said += JSON.stringify(message)
    if (isLast.test(said)) break
  }
  await client.dispose()
  return said
}

test('G06: a secret of a payload is in no output for who may not read payloads, and in no log', async () => {
  const said: string[] = []
  const hear = (text: string): string => {
    said.push(text)
    return text
  }
  hear((await enqueue({ login: 'ada', password: 7, [canary]: canary })).text)
  hear(
    (
      await ask(
        service,
        `mutation { enqueueJob(input: { job: { custom: { kind: "indiscreet", payload: "${canary}" } } }) { job { id } } }`,
        {},
        caller,
      )
    ).text,
  )
  const { data: beginning } = await ask(
    service,
    '{ jobs(first: 1) { streamCursor } auditLog(first: 1) { nodes { streamCursor } } }',
    {},
    caller,
  )
  const enqueued = await enqueue({ login: 'ada', password: canary })
  hear(enqueued.text)
  const { id } = enqueued.data.enqueueJob.job as { id: string }
  const updates: JobUpdate[] = []
  for await (const update of createClient({ url: await service.url(), token: caller }).watch(id)) updates.push(update)
  hear(JSON.stringify(updates))
  const job = updates.at(-1)!.job!
  expect(job.status).toBe('DLQ')

  const watched = await askEvents(
    await service.url(),
    `subscription { job(id: "${id}", after: "${job.streamCursor.replace(/\d+$/, '0')}") { event { type reason error { message detail } } job { payload payloadText result lastError { message detail } progress { message } } } }`,
    `Bearer ${caller}`,
  )
  hear(JSON.stringify(watched))
  for (const [query, isLast] of [
    [
      `subscription { jobs(after: "${beginning.jobs.streamCursor}") { updates { event { reason error { message detail } } job { payload payloadText result lastError { message detail } } } } }`,
      /DEAD_LETTERED|was refused/,
    ],
    [
      `subscription { auditLog(after: "${beginning.auditLog.nodes[0].streamCursor}") { action reason snapshot } }`,
      /JOB_DLQ/,
    ],
  ] as const)
    hear(await watchSocket(query, isLast))
  for (const { query } of presetTabs(buildSchema())) {
    const [operation] = parse(query).definitions
    if (operation?.kind !== Kind.OPERATION_DEFINITION || operation.operation !== 'query') continue
    hear(
      (
        await ask(
          service,
          query,
          operation.variableDefinitions?.some(({ variable }) => variable.name.value === 'id') === true ? { id } : {},
          caller,
        )
      ).text,
    )
  }
  for (const move of ['stopJob', 'discardJob']) {
    const input = `{ id: "${id}", reason: "canary" }`
    hear(
      (
        await ask(
          service,
          `mutation { ${move}(input: ${input}) { errors { code message } ${move === 'discardJob' ? 'auditEntry { snapshot reason }' : 'job { id status payload lastError { message } }'} } }`,
          {},
          caller,
        )
      ).text,
    )
  }
  hear((await ask(service, '{ auditLog(first: 50) { nodes { action snapshot reason } } }', {}, caller)).text)
  hear(await (await fetch(`${await service.url()}/metrics`)).text())
  hear(service.output())

  // The secret was worked with: who may read payloads sees it.
  expect((await ask(service, '{ auditLog(first: 50) { nodes { snapshot } } }')).text).toContain(canary)
  expect(leaksOf(said, [canary])).toEqual([])
  const all = said.join('\n')
  for (const told of ['The login of ada with [redacted]', 'Trying [redacted]', 'Tried [redacted]'])
    expect(all).toContain(told)
})

/** The places where one of the secrets stands, with what is around it. */
function leaksOf(said: readonly string[], secrets: readonly string[]): string[] {
  return said.flatMap((text) =>
    secrets.flatMap((secret) => {
      const at = text.indexOf(secret)
      return at === -1 ? [] : [text.slice(Math.max(at - 200, 0), at + secret.length + 50)]
    }),
  )
}

test('no secret of the settings and no token is in any answer, metric, page or line of the log', async () => {
  const secrets = Object.fromEntries(
    ['smtp', 'metrics', 'jwt', 'key', 'webhook'].map((name) => [name, `${name}-canary-${crypto.randomUUID()}`]),
  ) as Record<'smtp' | 'metrics' | 'jwt' | 'key' | 'webhook', string>
  const smtp = await startSmtpScript()
  onTestFinished(() => smtp.stop())
  smtp.answer = (stage) => (stage === 'auth' ? '535 5.7.8 authentication failed' : undefined)
  const folder = await mkdtemp(join(tmpdir(), 'stellwerk-canary-'))
  const other = startService({
    dataDir: folder,
    settings: {
      LOG_LEVEL: 'trace',
      SMTP_URL: smtp.url.replace('://', `://ada:${secrets.smtp}@`),
      STELLWERK_METRICS_TOKEN: secrets.metrics,
      STELLWERK_JWT_SECRET: secrets.jwt,
      STELLWERK_SECRET_KEY: secrets.key,
      STELLWERK_MAIL_WEBHOOK_SECRET: secrets.webhook,
    },
  })
  onTestFinished(async () => {
    await other.stop()
    await rm(folder, { recursive: true, force: true })
  })
  await other.started()
  const url = await other.url()
  const said: string[] = []
  const hear = async (response: Response | Promise<Response>): Promise<void> =>
    void said.push(await (await response).text())

  const jwt = await token({ tenants: '*', scope: scopes.join(' ') }, { secret: secrets.jwt })
  const made = await ask(
    other,
    'mutation { createApiKey(input: { name: "canary", scopes: [READ_JOBS], tenantIds: ["default"] }) { secret } }',
    {},
    jwt,
  )
  const apiKey = made.data.createApiKey.secret as string
  const wrong = 'sw_wrong-canary'
  // As people get them wrong: in the variables, in the query, in the address, as another scheme.
  for (const [authorization, query] of [
    [`Bearer ${wrong}`, '{ viewer { allTenants } }'],
    [`Bearer ${jwt}x`, '{ viewer { allTenants } }'],
    [`Basic ${apiKey}`, '{ viewer { allTenants } }'],
    [`Bearer ${apiKey}`, `query A { viewer { allTenants } } # ${apiKey}`],
    [`Bearer ${apiKey}`, `{ job(id: "${apiKey}") { id } }`],
    [`Bearer ${apiKey}`, `mutation { createTenant(input: { key: "${wrong}", name: "x" }) { errors { message } } }`],
  ] as const)
    said.push(JSON.stringify((await askServer(url, query, { authorization })).body))
  await hear(fetch(`${url}/graphql?token=${apiKey}`, { headers: { authorization: `Bearer ${apiKey}` } }))
  await hear(fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${wrong}` } }))
  await hear(
    fetch(`${url}/webhooks/email/smtp`, { method: 'POST', body: '{}', headers: { 'x-stellwerk-signature': wrong } }),
  )
  const raw = await rawSocket(url)
  raw.send({ type: 'connection_init', payload: { authorization: `Bearer ${wrong}` } })
  said.push(JSON.stringify(await raw.closed))

  await ask(
    other,
    `mutation { enqueueJob(input: { job: { emailSend: { to: { address: "ada@example.org" }, content: { subject: "S", text: "T" } } } }) { job { id } } }`,
    {},
    jwt,
  )
  await until(() => /provider out/.test(other.output()), 'the provider has refused the password')
  for (const { query } of presetTabs(buildSchema()))
    if (/^query/m.test(query)) said.push((await ask(other, query, { id: 'x' }, jwt)).text)
  said.push(
    (
      await ask(
        other,
        '{ auditLog(first: 100) { nodes { action reason snapshot } } apiKeys { id name } service { warnings } }',
        {},
        jwt,
      )
    ).text,
  )
  await hear(fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${secrets.metrics}` } }))
  for (const path of ['/', '/health', '/ready', '/graphiql', '/nothing']) await hear(fetch(`${url}${path}`))
  said.push(other.output())

  expect(said.join()).toContain('mdm_jobs_attempts_total')
  expect(said.join()).toContain('API_KEY_CHANGE')
  expect(leaksOf(said, [...Object.values(secrets), jwt, apiKey, wrong, await other.token()])).toEqual([])
}, 60_000)
