import { scopes, type Scope } from '../jobs/permissions.ts'
import { createApiKey, type ApiKeyResult } from '../resolvers/create-api-key.ts'
import { listApiKeys } from '../resolvers/list-api-keys.ts'
import { revokeApiKey } from '../resolvers/revoke-api-key.ts'
import type { ApiKeyRow } from '../resolvers/rows.ts'
import { findTenants } from '../resolvers/find-tenants.ts'
import { builder } from './builder.ts'
import { NodeRef } from './node.ts'
import { ScopeRef } from './principal.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const ApiKeyRef = builder.objectRef<ApiKeyRow>('ApiKey').implement({
  description: 'A key for a service, without its secret.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `key_${id}` }),
    name: t.exposeString('name', { description: 'What it is for.' }),
    scopes: t.field({
      type: [ScopeRef],
      description: 'What it may do.',
      resolve: (key): Scope[] => scopes.filter((scope) => key.scopes.includes(scope)),
    }),
    tenants: t.field({
      type: [TenantRef],
      nullable: true,
      description: 'For these tenants. Null: all.',
      resolve: ({ tenantIds }, _, context) => (tenantIds === null ? null : findTenants(tenantIds, context)),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true, description: 'When it ends.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was last used, to the hour.',
    }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'When it was revoked.' }),
  }),
})

const ApiKeyPayloadRef = builder.objectRef<ApiKeyResult>('ApiKeyPayload').implement({
  description: 'Result of making or revoking a key.',
  fields: (t) => ({
    apiKey: t.expose('apiKey', { type: ApiKeyRef, nullable: true, description: 'The key.' }),
    secret: t.exposeString('secret', { nullable: true, description: 'The secret, shown this once.' }),
    errors: errorsOf(t),
  }),
})

const CreateApiKeyInputRef = builder.inputType('CreateApiKeyInput', {
  description: 'A key for a service.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'What it is for.' }),
    scopes: t.field({ type: [ScopeRef], required: true, description: 'What it may do: no more than its creator.' }),
    tenantIds: t.idList({ description: 'For these tenants. Null: all (needs `OPERATE_PLATFORM`).' }),
    expiresAt: t.field({ type: 'DateTime', description: 'When it ends. Null: never.' }),
  }),
})

const RevokeApiKeyInputRef = builder.inputType('RevokeApiKeyInput', {
  description: 'A key to revoke.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The key.' }),
    reason: t.string({ description: 'Why, for the audit log.' }),
  }),
})

builder.queryField('apiKeys', (t) =>
  t.field({
    type: [ApiKeyRef],
    description: 'Keys for services, newest first.',
    directives: [
      { name: 'listSize', args: { assumedSize: 50 } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    resolve: (_, _args, context) => listApiKeys(context),
  }),
)

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: ApiKeyPayloadRef,
    description: 'Make a key for a service.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: CreateApiKeyInputRef, required: true }) },
    resolve: (_, { input }, context) => createApiKey(input, context),
  }),
  revokeApiKey: t.field({
    type: ApiKeyPayloadRef,
    description: 'Revoke a key. Its streams end within a second.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: RevokeApiKeyInputRef, required: true }) },
    resolve: (_, { input }, context) => revokeApiKey(input, context),
  }),
}))
