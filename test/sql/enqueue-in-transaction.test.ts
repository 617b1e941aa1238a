import { PrismaPg } from '@prisma/adapter-pg'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { PrismaClient } from '../../src/generated/prisma/client.ts'
import { builtInKinds } from '../../src/jobs/kinds.ts'
import { defineKind, enqueue, z } from '../../src/index.ts'
import { registerKinds } from '../../src/workers/register-kinds.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

const resize = defineKind({
  name: 'resize_image',
  payload: z.object({ url: z.url() }),
  example: { url: 'https://example.org/a.png' },
  run: async () => undefined,
})
const job = { kind: resize, payload: { url: 'https://example.org/a.png' } }

let database: TestDatabase
let client: Client
let prisma: PrismaClient

beforeAll(async () => {
  database = await testDatabase()
  await registerKinds(database.pool, new Map([resize, ...Object.values(builtInKinds)].map((kind) => [kind.name, kind])))
  client = new Client({ connectionString: database.url })
  await client.connect()
  prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.url }) })
})
afterAll(async () => {
  await prisma?.$disconnect()
  await client?.end()
  await database?.drop()
})
beforeEach(() => database.sql('delete from mdm.aa_job'))

const jobs = () => database.sql('select job_kind as kind, payload, idempotency_key as key, status from mdm.aa_job')
const expected = [{ kind: 'resize_image', payload: job.payload, key: null, status: 'pending' }]

describe('a job enqueued in the transaction of', () => {
  test('a client exists when that commits, and does not when it is rolled back', async () => {
    await client.query('begin')
    await enqueue(client, job)
    await client.query('rollback')
    expect(await jobs()).toEqual([])
    await client.query('begin')
    await enqueue(client, job)
    expect(await jobs()).toEqual([])
    await client.query('commit')
    expect(await jobs()).toEqual(expected)
  })

  test('Prisma exists when that commits, and does not when it is rolled back', async () => {
    await expect(
      prisma.$transaction(async (tx) => {
        await enqueue(tx, job)
        throw new Error('rolled back')
      }),
    ).rejects.toThrow('rolled back')
    expect(await jobs()).toEqual([])
    const { jobId, outcome } = await prisma.$transaction((tx) => enqueue(tx, { ...job, idempotencyKey: 'a' }))
    expect(outcome).toBe('created')
    expect(await prisma.$transaction((tx) => enqueue(tx, { ...job, idempotencyKey: 'a' }))).toEqual({
      jobId,
      outcome: 'duplicate',
    })
    expect(await jobs()).toEqual([{ ...expected[0], key: 'a' }])
  })
})

test('a pool, and Prisma outside of a transaction, commit at once', async () => {
  await enqueue(database.pool, job)
  await enqueue(prisma, job)
  expect(await jobs()).toHaveLength(2)
})

test.each(['pg', 'Prisma'] as const)('everything that a job may say is kept, by %s', async (by) => {
  const availableAt = new Date(Date.now() + 60_000)
  await enqueue(by === 'pg' ? database.pool : prisma, {
    ...job,
    tenant: 'platform',
    priority: 7,
    maxAttempts: 3,
    availableAt,
    tags: ['a', 'b'],
    correlationId: 'order-1',
  })
  const rows = await database.sql(
    'select priority, max_attempts, available_at, tags, correlation_id, (select tenant_key from mdm.aa_tenant t where t.id = tenant_id) as tenant from mdm.aa_job',
  )
  expect(rows).toEqual([
    {
      priority: 7,
      max_attempts: 3,
      available_at: availableAt,
      tags: ['a', 'b'],
      correlation_id: 'order-1',
      tenant: 'platform',
    },
  ])
})

test.each([
  [{ ...job, payload: { url: 'nowhere' } }, 'The payload of resize_image is refused at /url'],
  [{ ...job, payload: { url: 'https://example.org/\u0000' } }, 'NUL'],
  [
    { kind: 'email_send', payload: { to: { address: 'nobody' } } },
    'The payload of email_send is refused at /to/address',
  ],
  [{ kind: 'resize_image', payload: { text: '\ud83d' } }, 'surrogate'],
  [{ kind: 'no_such_kind', payload: {} }, 'unknown kind'],
  [{ ...job, tenant: 'nobody' }, 'unknown tenant'],
  [{ ...job, priority: 1_001 }, 'outside 0 to 1000'],
  [{ ...job, idempotencyKey: '' }, '1 to 255 characters'],
])('%o is refused and nothing is written', async (bad, sentence) => {
  await expect(enqueue(database.pool, bad)).rejects.toThrow(sentence)
  expect(await jobs()).toEqual([])
})
