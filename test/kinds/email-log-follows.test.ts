import { afterAll, beforeAll, expect, test } from 'vitest'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
  await database.sql(
    `insert into mdm.aa_job_kind (name, description, priority, max_attempts, backoff_base_ms, backoff_max_ms, backoff_jitter, timeout_ms, stale_after_ms, payload_schema, payload_example)
     values ('email_send', '', 50, 8, 1, 1, 0, 1000, 1000, '{}', '{}')`,
  )
})
afterAll(() => database?.drop())

/** A job with its line of the log, as far as a run has come. */
async function job(status: string, log: string, unanswered = 0): Promise<string> {
  const [row] = await database.sql<{ id: string }>(`select job_id as id from mdm.enqueue_job('email_send', '{}')`)
  await database.sql(
    `insert into mdm.aa_email_log (tenant_id, job_id, status, message_id, provider, to_address, unanswered)
     select tenant_id, id, $2, id::text, 'smtp', 'ada@example.org', $3 from mdm.aa_job where id = $1`,
    [row!.id, log, unanswered],
  )
  // Hand-made moves, as an operator or another instance may make them.
  if (status === 'running') await move(row!.id, `status = 'running'`)
  if (status === 'dlq') {
    await move(row!.id, `status = 'running'`)
    await move(row!.id, `status = 'dlq', last_error = 'broken'`)
    await database.sql('update mdm.aa_email_log set status = $2, final_at = now() where job_id = $1', [row!.id, log])
  }
  return row!.id
}
const move = (id: string, change: string) => database.sql(`update mdm.aa_job set ${change} where id = $1`, [id])
const log = async (id: string) =>
  (
    await database.sql(
      'select status, unanswered, final_at is not null as final from mdm.aa_email_log where job_id = $1',
      [id],
    )
  )[0]

const dies = `status = 'dlq', last_error = 'broken'`
const stops = `status = 'failed', last_error = 'stopped'`
const replays = `status = 'pending', attempts = 0, available_at = now()`

test.each([
  ['dies while it is sent', 'running', 'sending', 0, dies, { status: 'failed', unanswered: 0, final: true }],
  ['dies in doubt', 'running', 'sending', 1, dies, { status: 'unknown', unanswered: 1, final: true }],
  ['dies refused', 'running', 'rejected', 0, dies, { status: 'rejected', unanswered: 0, final: true }],
  ['dies although it was sent', 'running', 'sent', 0, dies, { status: 'sent', unanswered: 0, final: false }],
  ['is stopped while it is sent', 'running', 'sending', 0, stops, { status: 'failed', unanswered: 0, final: true }],
  ['is stopped while it waits', 'pending', 'failed', 0, stops, { status: 'failed', unanswered: 0, final: true }],
  ['is recovered', 'running', 'sending', 1, `status = 'pending'`, { status: 'sending', unanswered: 1, final: false }],
  ['is replayed in doubt', 'dlq', 'unknown', 2, replays, { status: 'failed', unanswered: 0, final: false }],
  ['is replayed refused', 'dlq', 'rejected', 0, replays, { status: 'failed', unanswered: 0, final: false }],
  ['is replayed although it was sent', 'dlq', 'sent', 0, replays, { status: 'sent', unanswered: 0, final: true }],
] as const)('the log follows a job that %s', async (_, status, before, unanswered, change, expected) => {
  const id = await job(status, before, unanswered)
  await move(id, change)
  expect(await log(id)).toEqual(expected)
})

test('the log outlives a job that is discarded, and says what is true of its mail', async () => {
  const id = await job('pending', 'failed')
  await database.sql('delete from mdm.aa_job where id = $1', [id])
  expect(await log(id)).toEqual({ status: 'failed', unanswered: 0, final: true })
})

test('a job that has no line yet moves all the same', async () => {
  const [row] = await database.sql<{ id: string }>(`select job_id as id from mdm.enqueue_job('email_send', '{}')`)
  await move(row!.id, stops)
  expect(await database.sql('select status from mdm.aa_job where id = $1', [row!.id])).toEqual([{ status: 'failed' }])
})
