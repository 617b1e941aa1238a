import { listEmailLogs, shownError, shownRecipient } from '../resolvers/list-email-logs.ts'
import type { EmailLogRow } from '../resolvers/rows.ts'
import { builder } from './builder.ts'
import { connectionOf } from './connection.ts'
import { DateTimeRangeInputRef } from './job-filter.ts'
import { JobRef } from './job-ref.ts'
import { NodeRef } from './node.ts'
import { TenantRef } from './tenant.ts'

const EmailStatusRef = builder.enumType('EmailStatus', {
  description: 'What became of an email.',
  values: {
    SENDING: { value: 'sending', description: 'Being handed over, or was when its worker vanished.' },
    FAILED: { value: 'failed', description: 'Not handed over; the job will try again or is dead.' },
    UNKNOWN: { value: 'unknown', description: 'Nobody knows whether the provider took it.' },
    SENT: { value: 'sent', description: 'Handed to the provider.' },
    DELIVERED: { value: 'delivered', description: 'Provider reports delivery.' },
    SUPPRESSED: { value: 'suppressed', description: 'Not sent: the address is suppressed.' },
    BOUNCED: { value: 'bounced', description: 'Provider reports a bounce.' },
    COMPLAINED: { value: 'complained', description: 'The recipient complained.' },
    REJECTED: { value: 'rejected', description: 'The provider refused it.' },
  } as const,
})

const EmailLogRef = builder.objectRef<EmailLogRow>('EmailLog').implement({
  description: 'One line of the email log.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `email_${id}` }),
    job: t.field({
      type: JobRef,
      nullable: true,
      description: 'The job that sent it.',
      resolve: ({ jobId }, _, { caller, loaders }) =>
        caller?.scopes.has('READ_JOBS') ? loaders.jobs.load(jobId) : null,
    }),
    tenant: t.field({
      type: TenantRef,
      nullable: true,
      description: 'Whose email.',
      resolve: ({ tenantId }, _, { loaders }) => loaders.tenants.load(tenantId),
    }),
    recipient: t.string({
      description: 'Recipient, masked without `READ_PAYLOADS`.',
      resolve: (row, _, context) => shownRecipient(row, context),
    }),
    template: t.exposeString('template', { nullable: true, description: 'Template or subject key.' }),
    provider: t.exposeString('provider', { description: 'Provider, e.g. `ses`.' }),
    providerMessageId: t.exposeString('providerMessageId', {
      nullable: true,
      description: "The provider's id: the execution-idempotency key.",
    }),
    status: t.expose('status', { type: EmailStatusRef, description: 'What became of it.' }),
    error: t.string({
      nullable: true,
      description: "Provider's answer on failure.",
      resolve: (row, _, context) => shownError(row, context),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When.' }),
  }),
})

const EmailLogConnectionRef = connectionOf(EmailLogRef, { one: 'email', many: 'emails' })

const EmailLogFilterRef = builder.inputType('EmailLogFilter', {
  description: 'Narrow down the email log.',
  fields: (t) => ({
    status: t.field({ type: [EmailStatusRef], description: 'Any of these statuses.' }),
    tenantId: t.idList({ description: 'Only these tenants.' }),
    recipient: t.string({ description: 'Exactly this recipient.' }),
    providerMessageId: t.string({ description: 'Exactly this provider message id.' }),
    createdAt: t.field({ type: DateTimeRangeInputRef, description: 'Sent in this span.' }),
  }),
})

builder.queryField('emailLogs', (t) =>
  t.field({
    type: EmailLogConnectionRef,
    description: 'The email log, newest first.',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_AUDIT']] } },
    ],
    args: {
      filter: t.arg({ type: EmailLogFilterRef }),
      first: t.arg.int({ required: true, defaultValue: 20 }),
      after: t.arg.string(),
    },
    resolve: (_, args, context) => listEmailLogs(args, context),
  }),
)

builder.objectField(JobRef, 'emailLogs', (t) =>
  t.field({
    type: EmailLogConnectionRef,
    description: 'Emails it sent (kind `email_send`).',
    directives: [
      { name: 'listSize', args: { slicingArguments: ['first'] } },
      { name: 'requiresScopes', args: { scopes: [['READ_AUDIT']] } },
    ],
    args: { first: t.arg.int({ required: true, defaultValue: 20 }), after: t.arg.string() },
    resolve: ({ id }, args, context) => listEmailLogs({ ...args, filter: { jobId: id } }, context),
  }),
)
