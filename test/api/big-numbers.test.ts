import type { ExecutionResult } from 'graphql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind } from '../../src/workers/define-kind.ts'
import { createRollup } from '../../src/workers/rollup.ts'
import { until } from '../support/until.ts'
import { startEngine, type TestEngine } from '../workers/support.ts'
import { testApi, type TestApi } from './support.ts'

let api: TestApi
let engine: TestEngine | undefined
beforeEach(async () => {
  api = await testApi()
})
afterEach(async () => {
  await engine?.stop()
  engine = undefined
  await api.stop()
})

/** The ids of journal and claims go on from here. */
async function idsFrom(first: bigint): Promise<void> {
  await api.sql(`alter sequence mdm.aa_audit_log_id restart with ${first}`)
  await api.sql(`alter table mdm.aa_claim alter column id restart with ${first}`)
}

const ask = async (query: string, variables: Record<string, unknown> = {}) => {
  const { data, errors } = await api.run(query, variables)
  expect(errors).toEqual([])
  return data
}

/** A job that fails once and is done. */
async function runOne(): Promise<string> {
  let isFirst = true
  const echo = defineKind({
    name: 'echo',
    payload: z.looseObject({}),
    defaults: { backoff: { baseMs: 1, maxMs: 1, jitter: 0 } },
    async run() {
      const fails = isFirst
      isFirst = false
      if (fails) throw new Error('Once.')
    },
  })
  engine = await startEngine(api, [echo])
  const { enqueueJob } = await ask('mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { job { id } } }', {
    input: { job: { custom: { kind: 'echo', payload: {} } } },
  })
  const id = enqueueJob.job.id as string
  await until(
    async () => (await ask('query ($id: ID!) { job(id: $id) { status } }', { id })).job.status === 'DONE',
    'it is done',
  )
  return id
}

/** All pages of a connection, one node each. */
async function paged(query: string, variables: Record<string, unknown>, of: (data: never) => unknown) {
  const nodes: { id: string; action?: string; type?: string }[] = []
  for (let after: string | null = null; ;) {
    const page = of((await ask(query, { ...variables, after })) as never) as {
      nodes: typeof nodes
      pageInfo: { endCursor: string; hasNextPage: boolean }
    }
    nodes.push(...page.nodes)
    after = page.pageInfo.endCursor
    if (!page.pageInfo.hasNextPage) return nodes
  }
}

test.each([
  ['2^33', 2n ** 33n],
  ['2^53 + 1', 2n ** 53n + 1n],
])(
  'D05: with ids from %s on jobs run, and lists, pages, statistics and what is logged tell each id exactly',
  async (_, first) => {
    await idsFrom(first)
    const job = await runOne()

    const stored = await api.sql<{ id: string }>(`select id::text from mdm.aa_audit_log where job_id = $1`, [
      job.slice(4),
    ])
    expect(new Set(stored.map(({ id }) => BigInt(id) >= first))).toEqual(new Set([true]))
    const log = await paged(
      'query ($after: String, $job: ID!) { auditLog(first: 1, after: $after, filter: { jobId: $job }) { nodes { id action } pageInfo { endCursor hasNextPage } } }',
      { job },
      ({ auditLog }: { auditLog: unknown }) => auditLog,
    )
    expect(log.map(({ action }) => action)).toEqual(['JOB_DONE', 'JOB_ENQUEUED'])
    for (const { id, action } of log)
      expect(
        (await ask('query ($id: ID!) { node(id: $id) { id ... on AuditEntry { action } } }', { id })).node,
      ).toEqual({ id, action })
    const told = await paged(
      'query ($id: ID!, $after: String) { job(id: $id) { events(first: 1, after: $after) { nodes { id type } pageInfo { endCursor hasNextPage } } } }',
      { id: job },
      ({ job: { events } }: { job: { events: unknown } }) => events,
    )
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length)
    expect(told.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['ENQUEUED', 'CLAIMED', 'RETRY_SCHEDULED', 'SUCCEEDED']),
    )

    expect(
      await createRollup({ pool: api.pool, events: api.deps.events, everyMs: 1_000 }).runOnce(),
    ).toBeGreaterThanOrEqual(3)
    expect(await api.sql('select from mdm.aa_claim')).toEqual([])
    // What observers are told goes into logs: nothing in it is a number that JSON cannot write.
    expect(() => JSON.stringify(engine!.told)).not.toThrow()
  },
)

// The positions of streams are numbers of JavaScript: exact for the first 9 * 10^15 rows of the journal, 3,000 years at 80,000 a second.
test('D05: with ids from 2^33 on streams bring each transition once, also those that are taken up again', async () => {
  await idsFrom(2n ** 33n)
  const { jobs: start } = await ask('{ jobs { streamCursor } }')
  /** What a stream brings until the job is done, and where it can be taken up again after its first part. */
  const follow = async (after: string) => {
    const told: string[] = []
    let resumeAt: { cursor: string; after: number } | undefined
    const stream = (await api.subscribe(
      'subscription ($after: String) { jobs(after: $after, window: "PT0S") { cursor updates { event { type } } } }',
      { after },
    )) as AsyncGenerator<ExecutionResult<{ jobs: { cursor: string; updates: { event: { type: string } }[] } }>>
    for await (const { data, errors } of stream) {
      expect(errors).toBeUndefined()
      told.push(...data!.jobs.updates.map(({ event }) => event.type).filter((type) => type !== 'CLAIMED'))
      resumeAt ??= { cursor: data!.jobs.cursor, after: told.length }
      if (told.includes('SUCCEEDED')) break
    }
    return { told, resumeAt: resumeAt! }
  }
  const following = follow(start.streamCursor)
  await runOne()
  const { told, resumeAt } = await following
  expect(told).toEqual(['ENQUEUED', 'RETRY_SCHEDULED', 'SUCCEEDED'])
  expect((await follow(resumeAt.cursor)).told).toEqual(told.slice(resumeAt.after))
})

test('D05: counts beyond 32 bits are told', async () => {
  const tenantId = await api.tenant('many')
  const [row] = await api.sql<{ id: string }>(
    `insert into mdm.aa_job (tenant_id, job_kind, progress) values ($1, 'echo', '{"done": 3000000000, "total": 9007199254740991}') returning id`,
    [tenantId],
  )
  const { job } = await ask('query ($id: ID!) { job(id: $id) { progress { current total } } }', {
    id: `job_${row!.id}`,
  })
  expect(job.progress).toEqual({ current: 3_000_000_000, total: Number.MAX_SAFE_INTEGER })
})
