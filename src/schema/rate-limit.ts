import { hitsPerMinute, listRateLimits, type TenantRateLimit } from '../resolvers/list-rate-limits.ts'
import { setRateLimit, type SetRateLimitResult } from '../resolvers/set-rate-limit.ts'
import { builder } from './builder.ts'
import { JobKindRef, RateLimitRef } from './job-kind.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const TenantRateLimitRef = builder.objectRef<TenantRateLimit>('TenantRateLimit').implement({
  description: 'The limit in force for one tenant and kind.',
  fields: (t) => ({
    tenant: t.expose('tenant', { type: TenantRef, description: 'The tenant.' }),
    kind: t.expose('kind', { type: JobKindRef, description: 'The kind.' }),
    limit: t.expose('limit', { type: RateLimitRef, nullable: true, description: 'The bucket. Null: unlimited.' }),
    overridden: t.exposeBoolean('overridden', { description: 'Whether the tenant has its own value.' }),
    hitsPerMinute: t.float({
      description: 'Requeues for want of a token in the last minute.',
      resolve: (limit, _, context) => hitsPerMinute(limit, context),
    }),
  }),
})

builder.objectField(TenantRef, 'rateLimits', (t) =>
  t.field({
    type: [TenantRateLimitRef],
    description: 'Effective rate limit of each kind.',
    directives: [{ name: 'listSize', args: { assumedSize: 20 } }],
    resolve: (tenant, _, context) => listRateLimits(tenant, context),
  }),
)

const RateLimitInputRef = builder.inputType('RateLimitInput', {
  description: 'A token bucket to set.',
  fields: (t) => ({
    rps: t.float({ required: true, description: 'Tokens per second.' }),
    burst: t.int({ required: true, description: 'Bucket size.' }),
  }),
})

const SetRateLimitInputRef = builder.inputType('SetRateLimitInput', {
  description: "A tenant's limit for a kind.",
  fields: (t) => ({
    tenantId: t.id({ required: true, description: 'The tenant.' }),
    kind: t.string({ required: true, description: 'The kind.' }),
    limit: t.field({ type: RateLimitInputRef, description: "The bucket. Null: back to the kind's default." }),
  }),
})

const SetRateLimitPayloadRef = builder.objectRef<SetRateLimitResult>('SetRateLimitPayload').implement({
  description: 'Result of setting a limit.',
  fields: (t) => ({
    rateLimit: t.expose('rateLimit', {
      type: TenantRateLimitRef,
      nullable: true,
      description: 'The limit now in force.',
    }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('setRateLimit', (t) =>
  t.field({
    type: SetRateLimitPayloadRef,
    description: "Set or reset a tenant's rate limit for a kind. Takes effect within a second.",
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA', 'OPERATE_PLATFORM']] } },
    ],
    args: { input: t.arg({ type: SetRateLimitInputRef, required: true }) },
    resolve: (_, { input }, context) => setRateLimit(input, context),
  }),
)
