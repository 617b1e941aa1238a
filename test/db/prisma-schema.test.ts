import { PrismaPg } from '@prisma/adapter-pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PrismaClient } from '../../src/generated/prisma/client.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let prisma: PrismaClient

beforeAll(async () => {
  database = await testDatabase()
  prisma = new PrismaClient({ adapter: new PrismaPg(database.pool) })
})
afterAll(async () => {
  await prisma.$disconnect()
  await database.drop()
})

test('O05: Prisma reads jobs, their tenant and the dead-letter queue', async () => {
  const [job] = await database.sql<{ id: string }>(`
    insert into mdm.aa_job (tenant_id, job_kind, payload, tags, available_at)
    select id, 'any_kind', '{"to": "Zürich"}', '{one}', '2030-01-02T03:04:05.678Z' from mdm.aa_tenant where tenant_key = 'default'
    returning id`)
  const read = await prisma.aaJob.findUniqueOrThrow({ where: { id: job?.id as string } })
  expect(read).toMatchObject({
    jobKind: 'any_kind',
    status: 'pending',
    payload: { to: 'Zürich' },
    tags: ['one'],
    availableAt: new Date('2030-01-02T03:04:05.678Z'),
  })
  // Apart: no foreign key holds the two together, and so Prisma knows no relation.
  expect(await prisma.aaTenant.findUnique({ where: { id: read.tenantId } })).toMatchObject({ tenantKey: 'default' })
  await database.sql(`update mdm.aa_job set status = 'dlq' where id = $1`, [job?.id])
  expect(await prisma.vJobDlq.findUniqueOrThrow({ where: { id: job?.id as string } })).toMatchObject({
    jobKind: 'any_kind',
  })
})
