import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ExecutionResult } from 'graphql'
import { testApi, type TestApi } from './support.ts'

let api: TestApi
beforeAll(async () => {
  api = await testApi()
})
afterAll(() => api.stop())

type Stream = AsyncGenerator<ExecutionResult<Record<string, unknown>>>
const open = async (query: string, variables: Record<string, unknown>): Promise<Stream> => {
  const stream = await api.subscribe(query, variables)
  if ('errors' in stream) throw stream.errors![0]!
  return stream as Stream
}
// oxlint-disable-next-line typescript/no-explicit-any
const next = async (stream: Stream, field: string): Promise<any> => {
  const { value, done } = await stream.next()
  expect(value?.errors).toBeUndefined()
  return done ? 'end' : value.data?.[field]
}
const add = async (more: Record<string, unknown> = {}) => {
  const { data } = await api.run(
    'mutation ($input: EnqueueJobInput!) { enqueueJob(input: $input) { job { id streamCursor } } }',
    {
      input: { job: { custom: { kind: 'echo', payload: {} } }, ...more },
    },
  )
  return data.enqueueJob.job as { id: string; streamCursor: string }
}
/** By hand, as an operator: the journal row is the trigger's; only the wake-up has to be given. */
const move = async (id: string, status: string) => {
  await api.sql('update mdm.aa_job set status = $2 where id = $1', [id.slice(4), status])
  api.deps.wakeup.signal('journal')
}
const watch =
  'subscription ($id: ID!, $after: String, $completeOn: [JobStatus!]! = [DONE, DLQ, FAILED]) { job(id: $id, after: $after, completeOn: $completeOn) { type cursor jobId matchesFilter event { type revision } job { status } } }'

test('a job from its snapshot to its end', async () => {
  const { id } = await add()
  const stream = await open(watch, { id })
  expect(await next(stream, 'job')).toMatchObject({
    type: 'SNAPSHOT',
    jobId: id,
    job: { status: 'PENDING' },
    event: null,
    matchesFilter: true,
  })
  await move(id, 'running')
  expect(await next(stream, 'job')).toMatchObject({
    type: 'EVENT',
    event: { type: 'CLAIMED', revision: 2 },
    job: { status: 'RUNNING' },
  })
  await move(id, 'done')
  expect(await next(stream, 'job')).toMatchObject({
    type: 'EVENT',
    event: { type: 'SUCCEEDED', revision: 3 },
    job: { status: 'DONE' },
  })
  expect(await next(stream, 'job')).toBe('end')
})

test('from the cursor of the enqueue on, nothing falls between', async () => {
  const { id, streamCursor } = await add()
  await move(id, 'running')
  await move(id, 'dlq')
  const stream = await open(watch, { id, after: streamCursor })
  expect([await next(stream, 'job'), await next(stream, 'job')]).toMatchObject([
    { event: { type: 'CLAIMED' } },
    { event: { type: 'DEAD_LETTERED' } },
  ])
  expect(await next(stream, 'job')).toBe('end')
})

test('a stream that cannot be is an error of the operation', async () => {
  const { id } = await add()
  const refusal = async (query: string, variables: Record<string, unknown>) => {
    const stream = await api.subscribe(query, variables)
    if (!('errors' in stream)) throw new Error('The stream is open.')
    return (stream.errors![0]!.originalError as unknown as { code: string }).code
  }
  expect(await refusal(watch, { id: 'job_00000000-0000-0000-0000-000000000000' })).toBe('NOT_FOUND')
  expect(await refusal(watch, { id: 'no id' })).toBe('NOT_FOUND')
  expect(await refusal(watch, { id, after: 'no cursor' })).toBe('BAD_USER_INPUT')
  const jobs =
    'subscription ($after: String, $window: Duration! = "PT0S", $filter: JobFilter) { jobs(after: $after, window: $window, filter: $filter) { cursor } }'
  expect(await refusal(jobs, { after: 'no cursor' })).toBe('BAD_USER_INPUT')
  expect(await refusal(jobs, { window: 'PT6S' })).toBe('BAD_USER_INPUT')
  expect(await refusal(jobs, { filter: { errorText: 'x' } })).toBe('BAD_USER_INPUT')
  // A cursor of one stream is none of the other.
  const { data } = await api.run('{ jobs { streamCursor } }')
  expect(await refusal(watch, { id, after: data.jobs.streamCursor })).toBe('BAD_USER_INPUT')
})

test('many jobs from the cursor of a list on', async () => {
  const { data } = await api.run(
    'query { ...list } fragment list on Query { jobs { ... on JobConnection { streamCursor } } }',
  )
  const { id } = await add({ tags: ['watched'] })
  await add()
  const stream = await open(
    'subscription ($after: String) { jobs(after: $after, filter: { tag: ["watched"] }, window: "PT0S") { cursor resync updates { type jobId event { type } job { id status } } } }',
    {
      after: data.jobs.streamCursor,
    },
  )
  expect(await next(stream, 'jobs')).toMatchObject({
    resync: false,
    updates: [{ type: 'EVENT', jobId: id, event: { type: 'ENQUEUED' }, job: { id, status: 'PENDING' } }],
  })
  await stream.return(undefined)
})
