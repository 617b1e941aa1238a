import { listEmailTemplates } from '../resolvers/list-email-templates.ts'
import type { EmailTemplateRow } from '../resolvers/rows.ts'
import { setEmailTemplate, type EmailTemplateResult } from '../resolvers/set-email-template.ts'
import { builder } from './builder.ts'
import { NodeRef } from './node.ts'
import { TenantRef } from './tenant.ts'
import { errorsOf } from './user-error.ts'

const EmailTemplateRef = builder.objectRef<EmailTemplateRow>('EmailTemplate').implement({
  description: 'A stored email template; the newest version counts.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `template_${id}` }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'The tenant it is for. Null: for all that have none of their own.',
      resolve: ({ tenantId }, _, { loaders }) => (tenantId === null ? null : loaders.tenants.load(tenantId)),
    }),
    key: t.exposeString('key', { description: 'Its key.' }),
    locale: t.exposeString('locale', { description: 'Locale.' }),
    version: t.exposeInt('version', { description: 'Version.' }),
    subject: t.exposeString('subject', { description: 'Subject.' }),
    text: t.exposeString('text', { description: 'Plain text.' }),
    html: t.exposeString('html', { nullable: true, description: 'HTML.' }),
    requiredVariables: t.exposeStringList('requiredVariables', { description: 'Variables it needs.' }),
  }),
})

builder.queryField('emailTemplates', (t) =>
  t.field({
    type: [EmailTemplateRef],
    description: 'Email templates.',
    directives: [
      { name: 'listSize', args: { assumedSize: 50 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: { tenantId: t.arg.id() },
    resolve: (_, args, context) => listEmailTemplates(args, context),
  }),
)

const SetEmailTemplateInputRef = builder.inputType('SetEmailTemplateInput', {
  description: 'A template to store as the next version.',
  fields: (t) => ({
    tenantId: t.id({ description: 'The tenant it is for. Null: for all (needs `OPERATE_PLATFORM`).' }),
    key: t.string({ required: true, description: 'Its key.' }),
    locale: t.string({ required: true, defaultValue: 'en', description: 'Locale.' }),
    subject: t.string({ required: true, description: 'Subject (Liquid).' }),
    text: t.string({ required: true, description: 'Plain text (Liquid).' }),
    html: t.string({ description: 'HTML (Liquid).' }),
  }),
})

const EmailTemplatePayloadRef = builder.objectRef<EmailTemplateResult>('EmailTemplatePayload').implement({
  description: 'Result of storing a template.',
  fields: (t) => ({
    template: t.expose('template', {
      type: EmailTemplateRef,
      nullable: true,
      description: 'The template as it is now.',
    }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('setEmailTemplate', (t) =>
  t.field({
    type: EmailTemplatePayloadRef,
    description: 'Store the next version of a template.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: SetEmailTemplateInputRef, required: true }) },
    resolve: (_, { input }, context) => setEmailTemplate(input, context),
  }),
)
