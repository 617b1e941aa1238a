import { principalOf } from '../jobs/permissions.ts'
import { addSuppression, type SuppressionResult } from '../resolvers/add-suppression.ts'
import { listSuppressions } from '../resolvers/list-suppressions.ts'
import { removeSuppression } from '../resolvers/remove-suppression.ts'
import type { SuppressionRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { EmailCategoryRef } from './email-send-input.ts'
import { NodeRef } from './node.ts'
import { PrincipalRef } from './principal.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const SuppressionReasonRef = builder.enumType('SuppressionReason', {
  description: 'Why an address is suppressed.',
  values: {
    BOUNCE: { value: 'bounce', description: 'It bounced.' },
    COMPLAINT: { value: 'complaint', description: 'Its owner complained.' },
    UNSUBSCRIBE: { value: 'unsubscribe', description: 'Its owner unsubscribed.' },
    MANUAL: { value: 'manual', description: 'Added by hand.' },
  } as const,
})

const SuppressionRef = builder.objectRef<SuppressionRow>('Suppression').implement({
  description: 'An address that gets no email.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `suppression_${id}` }),
    address: t.exposeString('address', { description: 'The address, lower-case.' }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'For this tenant only. Null: for all.',
      resolve: ({ tenantId }, _, { loaders }) => (tenantId === null ? null : loaders.tenants.load(tenantId)),
    }),
    reason: t.expose('reason', { type: SuppressionReasonRef, description: 'Why.' }),
    category: t.expose('category', {
      type: EmailCategoryRef,
      nullable: true,
      description: 'Only for this sort of email. Null: for every sort.',
    }),
    note: t.exposeString('note', { nullable: true, description: 'Remark.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When added.' }),
    createdBy: t.field({
      type: PrincipalRef,
      description: 'Who added it.',
      resolve: ({ createdBy }) => principalOf(createdBy),
    }),
  }),
})

const SuppressionConnectionRef = connectionOf(SuppressionRef, { one: 'suppression', many: 'suppressions' })

builder.queryField('suppressions', (t) =>
  t.field({
    type: SuppressionConnectionRef,
    description: 'Suppressed addresses, newest first.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_AUDIT']] } },
    ],
    args: {
      search: t.arg.string(),
      tenantId: t.arg.id(),
      first: t.arg.int({ required: true, defaultValue: 20 }),
      after: t.arg.string(),
    },
    resolve: (_, args, context) => listSuppressions(args, context),
  }),
)

const AddSuppressionInputRef = builder.inputType('AddSuppressionInput', {
  description: 'An address to suppress.',
  fields: (t) => ({
    address: t.string({ required: true, description: 'The address. Checked on the server.' }),
    tenantId: t.id({ description: 'For this tenant only. Null: for all (needs `OPERATE_PLATFORM`).' }),
    reason: t.field({ type: SuppressionReasonRef, required: true, defaultValue: 'manual', description: 'Why.' }),
    note: t.string({ description: 'Remark.' }),
  }),
})

const RemoveSuppressionInputRef = builder.inputType('RemoveSuppressionInput', {
  description: 'A suppression to lift.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'The suppression.' }),
    reason: t.string({ description: 'Why, for the audit log.' }),
  }),
})

const SuppressionPayloadRef = builder.objectRef<SuppressionResult>('SuppressionPayload').implement({
  description: 'Result of adding or lifting a suppression.',
  fields: (t) => ({
    suppression: t.expose('suppression', {
      type: SuppressionRef,
      nullable: true,
      description: 'The suppression added or lifted.',
    }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('addSuppression', (t) =>
  t.field({
    type: SuppressionPayloadRef,
    description: 'Suppress an address.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: AddSuppressionInputRef, required: true }) },
    resolve: (_, { input }, context) => addSuppression(input, context),
  }),
)

builder.mutationField('removeSuppression', (t) =>
  t.field({
    type: SuppressionPayloadRef,
    description: 'Lift a suppression.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: RemoveSuppressionInputRef, required: true }) },
    resolve: (_, { input }, context) => removeSuppression(input, context),
  }),
)
