import { afterAll, beforeAll, expect, test } from 'vitest'
import { emailSendPayload } from '../../src/jobs/email-send-payload.ts'
import type { HandlerContext } from '../../src/workers/handler.ts'
import type { ObjectStore } from '../../src/objects/object-store.ts'
import { createEmailSend } from '../../src/workers/handlers/email-send.ts'
import type { EmailSendPayload } from '../../src/jobs/email-send-payload.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => void (database = await testDatabase()))
afterAll(() => database?.drop())

test('a mail that another instance writes down as sent just now, and drops from the ack journal, is neither sent nor held', async () => {
  const [row] = await database.sql<{ jobId: string; tenantId: string }>(
    `insert into mdm.aa_email_log (tenant_id, job_id, status, attempts, unanswered, message_id, provider, to_address)
     select id, mdm.uuid_v7(), 'sending', 1, 1, 'x', 'smtp', 'ada@example.org' from mdm.aa_tenant where tenant_key = 'default'
     returning job_id as "jobId", tenant_id as "tenantId"`,
  )
  const { jobId, tenantId } = row!
  const send = createEmailSend({
    db: database.pool,
    // No attachment goes along.
    store: {} as ObjectStore,
    provider: {
      name: 'smtp',
      send: () => Promise.reject(new Error('It was sent again.')),
      close: () => undefined,
    },
    acks: {
      append: () => Promise.resolve(),
      // The worst moment: after the look into the files, before the look into the log.
      async find() {
        await database.sql(
          `update mdm.aa_email_log set status = 'sent', unanswered = 0, provider_message_id = 'p1' where job_id = $1`,
          [jobId],
        )
        return null
      },
      settle: () => Promise.resolve(),
      close: () => Promise.resolve(),
    },
    breaker: { enter: async () => ({ alive() {}, fault: () => 0, leave() {} }) },
    pace: { tried() {}, throttled() {} },
    mail: { from: 'post@example.org', domain: 'example.org', senders: {} },
    random: () => 0,
  })
  const context = {
    payload: emailSendPayload.parse({
      to: { address: 'ada@example.org' },
      content: { subject: 's', text: 't' },
      category: 'bulk',
    }),
    job: { id: jobId, tenantId },
    signal: new AbortController().signal,
  } as HandlerContext<EmailSendPayload>
  const done = await send(context)
  expect(done).toMatchObject({ result: { status: 'sent', providerMessageId: 'p1' } })
})
