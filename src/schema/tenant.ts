import { createTenant, type TenantResult } from '../resolvers/create-tenant.ts'
import { getTenant } from '../resolvers/get-tenant.ts'
import { listTenants } from '../resolvers/list-tenants.ts'
import type { TenantRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { NodeRef } from './node.ts'
import { errorsOf } from './user-error.ts'

export const TenantRef = builder.objectRef<TenantRow>('Tenant').implement({
  description: "A customer or unit whose jobs are kept apart from others'.",
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id, e.g. `tenant_default`.', resolve: ({ key }) => `tenant_${key}` }),
    key: t.exposeString('key', { description: 'Its key.' }),
    active: t.boolean({ description: 'Whether its jobs are claimed.', resolve: ({ status }) => status === 'active' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    weight: t.int({
      description: 'Its share in round-robin dispatch. Default 1.',
      resolve: ({ metadata }) => metadata.weight ?? 1,
    }),
  }),
})

export const TenantConnectionRef = connectionOf(TenantRef, { one: 'tenant', many: 'tenants' })

builder.queryField('tenants', (t) =>
  t.field({
    type: TenantConnectionRef,
    description: "The caller's tenants by name.",
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: { search: t.arg.string(), first: t.arg.int({ required: true, defaultValue: 20 }), after: t.arg.string() },
    resolve: (_, args, context) => listTenants(args, context),
  }),
)

builder.queryField('tenant', (t) =>
  t.field({
    type: TenantRef,
    nullable: true,
    description: 'One tenant.',
    directives: [{ name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } }],
    args: { id: t.arg.id({ required: true }) },
    resolve: (_, { id }, context) => getTenant(id, context),
  }),
)

const CreateTenantInputRef = builder.inputType('CreateTenantInput', {
  description: 'A tenant to create.',
  fields: (t) => ({
    key: t.string({ required: true, description: 'Its key: lower-case letters, digits, `-` and `_`.' }),
    name: t.string({ required: true, description: 'Display name.' }),
  }),
})

export const TenantPayloadRef = builder.objectRef<TenantResult>('TenantPayload').implement({
  description: 'Result of a change to a tenant.',
  fields: (t) => ({
    tenant: t.expose('tenant', { type: TenantRef, nullable: true, description: 'The tenant as it is now.' }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('createTenant', (t) =>
  t.field({
    type: TenantPayloadRef,
    description: 'Create a tenant with the default rate limits.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['OPERATE_PLATFORM']] } },
    ],
    args: { input: t.arg({ type: CreateTenantInputRef, required: true }) },
    resolve: (_, { input }, context) => createTenant(input, context),
  }),
)
