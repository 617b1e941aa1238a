import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, Kind } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient, type JobUpdate } from '../../client/src/index.ts'
import { scopes } from '../../src/jobs/permissions.ts'
import { buildSchema } from '../../src/schema/index.ts'
import { presetTabs } from '../../src/server/preset-tabs.ts'
import { askEvents, token } from '../server/support.ts'
import { ask } from '../start/ask.ts'
import { startService, type Service } from '../support/service.ts'

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
  const leaks = said.flatMap((text) =>
    [...text.matchAll(new RegExp(`.{0,200}${canary}.{0,50}`, 'g'))].map(([around]) => around),
  )
  expect(leaks).toEqual([])
  const all = said.join('\n')
  for (const told of ['The login of ada with [redacted]', 'Trying [redacted]', 'Tried [redacted]'])
    expect(all).toContain(told)
})
