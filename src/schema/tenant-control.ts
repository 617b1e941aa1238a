import { setTenantActive } from '../resolvers/set-tenant-active.ts'
import { setTenantWeight } from '../resolvers/set-tenant-weight.ts'
import { builder } from './builder.ts'
import { TenantPayloadRef } from './tenant.ts'

const SetTenantWeightInputRef = builder.inputType('SetTenantWeightInput', {
  description: "A tenant's share of the workers.",
  fields: (t) => ({
    tenantId: t.id({ required: true, description: 'The tenant.' }),
    weight: t.int({ required: true, description: '1 to 100: with weight 3 it gets three jobs where others get one.' }),
  }),
})

const SetTenantActiveInputRef = builder.inputType('SetTenantActiveInput', {
  description: 'A tenant to open or close.',
  fields: (t) => ({
    tenantId: t.id({ required: true, description: 'The tenant.' }),
    active: t.boolean({ required: true, description: 'Open or closed.' }),
    reason: t.string({ description: 'Why, for the audit log.' }),
  }),
})

builder.mutationFields((t) => ({
  setTenantWeight: t.field({
    type: TenantPayloadRef,
    description: "Set a tenant's share of the workers.",
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA', 'OPERATE_PLATFORM']] } },
    ],
    args: { input: t.arg({ type: SetTenantWeightInputRef, required: true }) },
    resolve: (_, { input }, context) => setTenantWeight(input, context),
  }),
  setTenantActive: t.field({
    type: TenantPayloadRef,
    description: 'Open or close a tenant. Closing stops its pending jobs, with audit, and ends its streams.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['OPERATE_PLATFORM']] } },
    ],
    args: { input: t.arg({ type: SetTenantActiveInputRef, required: true }) },
    resolve: (_, { input }, context) => setTenantActive(input, context),
  }),
}))
