import { backoffSchedule } from '../jobs/backoff.ts'
import { getKind } from '../resolvers/get-kind.ts'
import { listKinds } from '../resolvers/list-kinds.ts'
import type { RegisteredKind } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { NodeRef } from './node.ts'

const RetryPolicyRef = builder.objectRef<RegisteredKind>('RetryPolicy').implement({
  description: 'How failures are retried: min(base · 2^(n−1), maxDelay) + random(0 … jitter).',
  fields: (t) => ({
    maxAttempts: t.exposeInt('maxAttempts', { description: 'Attempts before the DLQ.' }),
    base: t.expose('backoffBaseMs', { type: 'Duration', description: 'Delay after the first failure.' }),
    maxDelay: t.expose('backoffMaxMs', { type: 'Duration', description: 'Longest delay before jitter.' }),
    jitter: t.exposeFloat('backoffJitter', { description: 'Jitter as a share of the delay, e.g. 0.1.' }),
    schedule: t.field({
      type: ['Duration'],
      description: 'The delays as they would come, without jitter.',
      resolve: (kind) =>
        backoffSchedule(kind.maxAttempts, {
          baseMs: kind.backoffBaseMs,
          maxMs: kind.backoffMaxMs,
          jitter: kind.backoffJitter,
        }),
    }),
  }),
})

export const RateLimitRef = builder.objectRef<{ readonly rps: number; readonly burst: number }>('RateLimit').implement({
  description: 'A token bucket.',
  fields: (t) => ({
    rps: t.exposeFloat('rps', { description: 'Tokens per second.' }),
    burst: t.exposeInt('burst', { description: 'Bucket size.' }),
  }),
})

export const JobKindRef = builder.objectRef<RegisteredKind>('JobKind').implement({
  description: 'A registered kind of work and its configuration.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id, e.g. `kind_email_send`.', resolve: ({ name }) => `kind_${name}` }),
    name: t.exposeString('name', { description: 'The name as stored, e.g. `email_send`.' }),
    description: t.string({
      nullable: true,
      description: 'What it does.',
      resolve: (kind) => kind.description || null,
    }),
    retry: t.field({ type: RetryPolicyRef, description: 'Retry behaviour.', resolve: (kind) => kind }),
    staleAfter: t.expose('staleAfterMs', { type: 'Duration', description: 'A claim older than this is taken back.' }),
    timeout: t.expose('timeoutMs', {
      type: 'Duration',
      nullable: true,
      description: 'An attempt longer than this is aborted.',
    }),
    defaultPriority: t.exposeInt('priority', { description: 'Priority unless the enqueuer says otherwise.' }),
    maxConcurrency: t.exposeInt('maxConcurrency', {
      nullable: true,
      description: 'At most this many running at once over all instances.',
    }),
    defaultRateLimit: t.expose('rateLimit', {
      type: RateLimitRef,
      nullable: true,
      description: 'Limit per tenant unless a tenant has its own.',
    }),
    retention: t.field({
      type: 'Duration',
      description: 'How long finished jobs are kept.',
      resolve: (kind, _, { deps }) => kind.retentionMs ?? deps.retentionMs,
    }),
    payloadSchema: t.expose('payloadSchema', { type: 'JSON', description: 'JSON Schema (2020-12) of the payload.' }),
    payloadExample: t.expose('payloadExample', { type: 'JSON', description: 'A valid example payload.' }),
    redactedPaths: t.stringList({
      description: 'Payload paths (JSON Pointer) masked without `READ_PAYLOADS`.',
      resolve: ({ redactedPaths }) => [...redactedPaths],
    }),
    inputField: t.exposeString('inputField', {
      nullable: true,
      description: 'The field of `JobInput` that enqueues it with a typed payload. Null: use `JobInput.custom`.',
    }),
  }),
})

builder.queryField('jobKinds', (t) =>
  t.field({
    type: [JobKindRef],
    description: 'All registered kinds.',
    directives: [
      { name: 'listSize', args: { assumedSize: 20 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS'], ['ENQUEUE_JOBS']] } },
    ],
    resolve: (_, _args, context) => listKinds(context),
  }),
)

builder.queryField('jobKind', (t) =>
  t.field({
    type: JobKindRef,
    nullable: true,
    description: 'One kind by its name.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS'], ['ENQUEUE_JOBS']] } }],
    args: { name: t.arg.string({ required: true }) },
    resolve: (_, { name }, context) => getKind(name, context),
  }),
)
